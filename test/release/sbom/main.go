// Command sbom tells what a Go program was built of, as CycloneDX JSON on its standard output. It reads the list that the
// linker left in the program, so it tells of what is really in there, and not of what go.mod would allow.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("sbom", flag.ContinueOnError)
	version := flags.String("version", "", "the program's version")
	seconds := flags.Int64("time", 0, "when its commit was made, in seconds since 1970")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || *version == "" {
		return errors.New("usage: sbom --version VERSION [--time SECONDS] PROGRAM")
	}
	data, err := os.ReadFile(flags.Arg(0))
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(flags.Arg(0))
	if err != nil {
		return fmt.Errorf("read what %s was built of: %w", flags.Arg(0), err)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")

	return encoder.Encode(describe(program{data: data, info: info, version: *version, commit: time.Unix(*seconds, 0).UTC()}))
}
