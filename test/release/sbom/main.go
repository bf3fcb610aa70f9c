// Command sbom prints the modules of a Go program as CycloneDX JSON. It reads the list that the linker stored in the
// program, so it names the modules that are really in it, and not all those of go.mod.
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

	return encoder.Encode(describe(program{data: data, info: info, version: *version,
		commit: time.Unix(*seconds, 0).UTC()}))
}
