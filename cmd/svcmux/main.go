// Command svcmux is the command line for people who write muxes and channels. It needs no cluster: `svcmux validate`
// judges Services in files as admission would, so that a pull request is refused before a cluster sees it.
//
//	main.go      which verb
//	options.go   flags, defaults, and their check
//	validate.go  the verb: files in, a report out
//	gather.go    which files            charts.go    templates, which aren't YAML yet
//	split.go     a file's documents     json.go      values of JSON in a row
//	parse.go     a document's values    lines.go     where they are
//	objects.go   which are Services     decode.go    a Service, strictly
//	repeated.go  fields there twice     misfit.go    values of the wrong type
//	judge.go     what is said of one
//	report.go    all that was found     print*.go    as text, JSON, SARIF, workflow commands
//	words.go     parts of sentences
//	rules.go     what each reason means, from rules/*.yaml; docs/rules.md is made of the same
package main

import (
	"fmt"
	"io"
	"os"

	"nowake.ai/svc-lb-mux/cmd/internal/version"
)

// Exit codes.
const (
	exitFine     = 0
	exitProblems = 1 // problems were found, or warnings that count
	exitUsage    = 2 // the command line, or something to read, couldn't be understood
)

const usage = `svcmux judges the muxes and channels of svc-lb-mux without a cluster.

Usage:
  svcmux validate -f FILE|DIR|-   judge Services in files (svcmux validate -h says more)
  svcmux --version                print the version
  svcmux help                     print this
`

// world is what a command may touch besides files.
type world struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
}

func main() {
	os.Exit(run(os.Args[1:], world{os.Stdin, os.Stdout, os.Stderr, os.Getenv}))
}

func run(args []string, w world) int {
	if len(args) == 0 {
		fmt.Fprint(w.stderr, usage)
		return exitUsage
	}
	verb, rest := args[0], args[1:]
	if verb == "validate" {
		return validate(rest, w)
	}
	if len(rest) > 0 && verb != "help" {
		fmt.Fprintf(w.stderr, "svcmux: %q after %s: say one thing at a time, such as svcmux validate -f FILE\n",
			rest[0], printable(verb))
		return exitUsage
	}
	switch verb {
	case "--version", "-version", "version":
		fmt.Fprintln(w.stdout, "svcmux", version.String())
		return exitFine
	case "--help", "-help", "-h", "help":
		if len(rest) > 0 && rest[0] == "validate" {
			return validate([]string{"-h"}, w)
		}
		fmt.Fprint(w.stdout, usage)
		return exitFine
	}
	fmt.Fprintf(w.stderr, "svcmux: there is no %q: try svcmux validate -f FILE, or svcmux help\n", verb)
	return exitUsage
}
