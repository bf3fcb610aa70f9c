// Command metadata prints a chart's Chart.yaml with what a release adds to it: the addresses that the publisher names,
// and the annotations of Artifact Hub that depend on the version.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "metadata:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("metadata", flag.ContinueOnError)
	var r release
	flags.StringVar(&r.version, "version", "", "the release's version, such as v1.2.3")
	flags.StringVar(&r.downloads, "downloads", "", "the address of the folders of all versions; localhost stands for none")
	flags.StringVar(&r.sources, "sources", "", "the address of the repository; empty if there is none")
	notes := flags.String("notes", "", "the file with the changelog's section")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || r.version == "" || *notes == "" {
		return errors.New("usage: metadata --version VERSION --notes FILE [--downloads URL] [--sources URL] CHART.YAML")
	}
	chart, err := os.ReadFile(flags.Arg(0))
	if err != nil {
		return err
	}
	section, err := os.ReadFile(*notes)
	if err != nil {
		return err
	}
	if r.changes, err = parseChanges(string(section)); err != nil {
		return err
	}
	text, err := r.describe(chart)
	if err != nil {
		return err
	}
	_, err = out.Write(text)

	return err
}

// release is what a chart says about its release.
type release struct {
	version, downloads, sources string
	changes                     []change
}

// link is an entry of the annotation artifacthub.io/links.
type link struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// describe returns a Chart.yaml with the release's metadata. Artifact Hub reads lists from strings that are YAML.
func (r release) describe(text []byte) ([]byte, error) {
	chart := map[string]any{}
	if err := yaml.Unmarshal(text, &chart); err != nil {
		return nil, fmt.Errorf("read Chart.yaml: %w", err)
	}
	notes, isMap := chart["annotations"].(map[string]any)
	if !isMap {
		notes = map[string]any{}
		chart["annotations"] = notes
	}
	home, err := address("DOWNLOADS", r.downloads)
	if err != nil {
		return nil, err
	}
	sources, err := address("SOURCES", r.sources)
	if err != nil {
		return nil, err
	}
	var links []link
	if home != "" {
		chart["home"] = home
		links = []link{{"Release notes", home + "/" + r.version + "/release-notes.md"},
			{"Checksums", home + "/" + r.version + "/SHA256SUMS"}}
	}
	if sources != "" {
		chart["sources"] = []string{sources}
	}
	notes["artifacthub.io/prerelease"] = fmt.Sprint(strings.Contains(r.version, "-"))
	notes["artifacthub.io/containsSecurityUpdates"] = fmt.Sprint(hasSecurity(r.changes))
	if err := errors.Join(list(notes, "artifacthub.io/links", links),
		list(notes, "artifacthub.io/changes", r.changes)); err != nil {
		return nil, err
	}

	return yaml.Marshal(chart)
}

// list sets an annotation to a list, unless the list is empty.
func list[T any](annotations map[string]any, key string, entries []T) error {
	if len(entries) == 0 {
		return nil
	}
	text, err := yaml.Marshal(entries)
	annotations[key] = string(text)

	return err
}

// address checks an address. It returns nothing for an empty one and for one on localhost, which stands for none.
func address(setting, text string) (string, error) {
	parsed, err := url.Parse(text)
	if text == "" || err == nil && parsed.Hostname() == "localhost" {
		return "", nil
	}
	if err != nil || parsed.Host == "" || parsed.Scheme != "https" && parsed.Scheme != "http" {
		return "", fmt.Errorf("%s %q isn't an address: write one such as https://<host>/<path>", setting, text)
	}

	return strings.TrimSuffix(text, "/"), nil
}
