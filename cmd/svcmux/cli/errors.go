package cli

import (
	"errors"
	"fmt"
)

// The exit codes of all commands.
const (
	ExitFine   = 0
	ExitFailed = 1 // the command couldn't do all that was asked; its messages say why
	ExitUsage  = 2 // a mistake in the command line
)

// exitError is an error with an exit code of its own.
type exitError struct {
	code int
	err  error // nil if the command has printed its messages
}

func (e exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// Usagef returns an error about a mistake in the command line.
func Usagef(format string, args ...any) error {
	return exitError{ExitUsage, fmt.Errorf(format, args...)}
}

// ExitCode returns the exit code for a command's error.
func ExitCode(err error) int {
	var coded exitError
	switch {
	case err == nil:
		return ExitFine
	case errors.As(err, &coded):
		return coded.code
	}
	return ExitFailed
}

// Exit returns an error without a message for an exit code; nil for ExitFine.
func Exit(code int) error {
	if code == ExitFine {
		return nil
	}
	return exitError{code: code}
}
