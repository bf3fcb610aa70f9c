package validate

// Exit codes.
const (
	exitFine     = 0
	exitProblems = 1 // problems were found, or warnings with --strict
	exitUsage    = 2 // a mistake in the command line, or a file that can't be read
)
