// Command svcmux checks muxes and channels without a cluster. `svcmux validate` judges the Services in files as
// admission would, so that a pull request can be refused before it reaches a cluster.
//
//	main.go      picks the verb
//	options.go   flags, their defaults and checks
//	validate.go  the verb validate: files in, a report out
//	gather.go    finds the files                charts.go    skips Helm templates
//	split.go     splits a file in documents     json.go      splits JSON values in a row
//	parse.go     parses a document              lines.go     finds the line of a field
//	objects.go   finds the Services             decode.go    decodes a Service strictly
//	repeated.go  finds repeated fields          misfit.go    finds values of the wrong type
//	judge.go     the findings of one Service
//	report.go    all findings                   print*.go    text, JSON, SARIF, workflow commands
//	words.go     names and counts in messages
//	rules.go     explains each reason, from rules/*.yaml; docs/rules.md is generated from the same files
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
	exitProblems = 1 // problems were found, or warnings with --strict
	exitUsage    = 2 // a mistake in the command line, or a file that can't be read
)

const usage = `svcmux judges the muxes and channels of svc-lb-mux without a cluster.

Usage:
  svcmux validate -f FILE|DIR|-   judge Services in files (for its flags: svcmux validate -h)
  svcmux --version                print the version
  svcmux help                     print this
`

// world is a command's input and output, besides files.
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
		fmt.Fprintf(w.stderr, "svcmux: unexpected %q after %s: give one command at a time, such as svcmux validate -f FILE\n",
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
	fmt.Fprintf(w.stderr, "svcmux: unknown command %q: try svcmux validate -f FILE, or svcmux help\n", verb)
	return exitUsage
}
