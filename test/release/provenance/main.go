// Command provenance writes and checks the SLSA provenance of a release: a statement of the files and images that were
// made, of which sources, by which builder.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const usage = `usage:
  provenance write [flags] FOLDER PROGRAM...  print the provenance of a release's folder
  provenance check FOLDER                     compare a folder with its provenance
  provenance predicate FOLDER                 print the predicate, which cosign attests for each image
  provenance images FOLDER                    print each image and its digest`

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) < 2 {
		return errors.New(usage)
	}
	if args[0] == "write" {
		return write(args[1:], out)
	}
	stated, err := load(args[1])
	if err != nil {
		return err
	}
	switch args[0] {
	case "check":
		return check(args[1], stated)
	case "predicate":
		return encode(out, stated.Predicate)
	case "images":
		for _, image := range stated.images() {
			if _, err := fmt.Fprintf(out, "%s sha256:%s\n", image.Name, image.Digest["sha256"]); err != nil {
				return err
			}
		}

		return nil
	default:
		return errors.New(usage)
	}
}

func write(args []string, out io.Writer) error {
	r := release{images: map[string]string{}, builder: builder{Version: map[string]string{}}}
	flags := flag.NewFlagSet("provenance write", flag.ContinueOnError)
	flags.StringVar(&r.settings.Version, "version", "", "the release's version")
	flags.StringVar(&r.settings.Source, "source", "", "the repository's address")
	flags.StringVar(&r.settings.Downloads, "downloads", "", "the address that Krew's manifest has")
	flags.StringVar(&r.settings.Sources, "sources", "", "the address that the chart's metadata has")
	flags.BoolVar(&r.settings.Trial, "trial", false, "made from a work tree")
	flags.StringVar(&r.commit, "commit", "", "the commit's hash")
	flags.StringVar(&r.builder.ID, "builder", "", "who built it, an address")
	flags.Func("image-platforms", "platforms of the images", words(&r.settings.ImagePlatforms))
	flags.Func("command-platforms", "platforms of svcmux", words(&r.settings.CommandPlatforms))
	flags.Func("image", "NAME=DIGEST", pairs(r.images))
	flags.Func("tool", "NAME=VERSION of a tool of the builder", pairs(r.builder.Version))
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() < 2 || r.settings.Version == "" {
		return errors.New(usage)
	}
	r.folder, r.programs = flags.Arg(0), flags.Args()[1:]
	stated, err := state(r)
	if err != nil {
		return err
	}

	return encode(out, stated)
}

func words(into *[]string) func(string) error {
	return func(value string) error {
		*into = strings.Fields(value)

		return nil
	}
}

func pairs(into map[string]string) func(string) error {
	return func(value string) error {
		name, of, ok := strings.Cut(value, "=")
		if !ok {
			return errors.New("want NAME=VALUE")
		}
		into[name] = of

		return nil
	}
}

func encode(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")

	return encoder.Encode(value)
}

// load reads the statement of a release's folder.
func load(folder string) (statement, error) {
	var stated statement
	found, err := filepath.Glob(filepath.Join(folder, "*"+suffix))
	if err != nil {
		return stated, err
	}
	if len(found) != 1 {
		return stated, fmt.Errorf("%s has %d files *%s, and a release has one: get the release's files again", folder,
			len(found), suffix)
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		return stated, err
	}
	if err := json.Unmarshal(data, &stated); err != nil {
		return stated, fmt.Errorf("%s isn't a statement of provenance: %w: get the release's files again", found[0], err)
	}

	return stated, nil
}
