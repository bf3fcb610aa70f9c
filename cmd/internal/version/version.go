// Package version knows which build this is, and is the whole of a command that can say nothing else yet. It reads
// what the linker and the Go toolchain left in the binary; nothing here depends on what a command does.
package version

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime/debug"
)

// linked is set by the linker (see the Makefile); the linker can only write to a package variable.
//
//nolint:gochecknoglobals // written once, by the linker, before the program starts
var linked string

// String is the version of this build.
func String() string {
	info, _ := debug.ReadBuildInfo()

	return choose(linked, info)
}

// choose takes the linker's word first, then the module version that `go install module@version` records.
func choose(linked string, info *debug.BuildInfo) string {
	if linked != "" {
		return linked
	}
	if info == nil || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}

	return info.Main.Version
}

// Only runs the command called name, whose one ability is to print its version, and returns its exit code.
func Only(name string, args []string, stdout, stderr io.Writer) int {
	const refused = 2

	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	show := flags.Bool("version", false, "print the version and exit")

	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return refused // the flag set has said why
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "%s: takes no arguments, got %q; try --version\n", name, flags.Arg(0))
		return refused
	case !*show:
		fmt.Fprintf(stderr, "%s: this build only reports its version; run it with --version\n", name)
		return refused
	}

	fmt.Fprintln(stdout, name, String())

	return 0
}
