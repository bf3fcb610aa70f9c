package docs

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEveryLinkHasATarget checks that each link on a page leads to an existing file and, if it names a heading, to an
// existing heading. Links to other sites aren't checked.
func TestEveryLinkHasATarget(t *testing.T) {
	all := proseOf(t, pages(t))
	for path, p := range all {
		for _, link := range p.links {
			if err := leads(all, path, link); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

// TestEachPageIsInTheIndex checks that docs/README.md links to every page.
func TestEachPageIsInTheIndex(t *testing.T) {
	const index = "docs/README.md"
	all := proseOf(t, pages(t))
	for path := range all {
		dir, name := filepath.Split(path)
		if dir == "docs/" && path != index && !slices.Contains(all[index].links, name) {
			t.Errorf("%s has no link to %s", index, name)
		}
	}
}

func TestLinksAndAnchorsAreParsed(t *testing.T) {
	for name, tc := range map[string]struct {
		text           string
		links, anchors []string
	}{
		"a heading's anchor has lower case and no punctuation": {
			"# The way back\n## What it's for: `kubectl` & co.\n", nil,
			[]string{"the-way-back", "what-its-for-kubectl--co"},
		},
		"the anchor of a repeated heading has a number": {
			"# Same\n# Same\n# Same\n", nil, []string{"same", "same-1", "same-2"},
		},
		"a link in a heading counts as its text": {"# See [this](a.md)\n", []string{"a.md"}, []string{"see-this"}},
		"text in a fence has no links or headings": {"```sh\n# no heading\n[no](link.md)\n```\n[a](b.md)\n", []string{"b.md"},
			nil},
		"a longer fence contains shorter ones": {"````\n```\n[no](link.md)\n```\n[no](link.md)\n````\n[a](b.md)\n",
			[]string{"b.md"}, nil},
		"text in a code span has no links": {"`[no](link.md)` [`a`](b.md#c) ![picture](d.svg)\n",
			[]string{"b.md#c", "d.svg"}, nil},
		"a link spans two lines": {"[a\nb](c.md)\n", []string{"c.md"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := readProse(tc.text)
			if diff := cmp.Diff(tc.links, got.links); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.anchors, got.anchors); diff != "" {
				t.Errorf("anchors (-want +got):\n%s", diff)
			}
		})
	}
}

// prose holds the links and anchors of a Markdown page.
type prose struct{ links, anchors []string }

func proseOf(t *testing.T, paths []string) map[string]prose {
	t.Helper()
	all := map[string]prose{}
	for _, path := range paths {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		all[path] = readProse(string(text))
	}
	return all
}

func readProse(text string) prose {
	var p prose
	shown := withoutBlocks(text)
	for _, heading := range regexp.MustCompile(`(?m)^#+ +(.+?) *$`).FindAllStringSubmatch(shown, -1) {
		p.anchors = append(p.anchors, p.anchor(heading[1]))
	}
	text = regexp.MustCompile("`[^`\n]*`").ReplaceAllString(shown, "code")
	for _, link := range regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`).FindAllStringSubmatch(text, -1) {
		p.links = append(p.links, link[1])
	}
	return p
}

// withoutBlocks removes fenced blocks. A fence ends with a fence that is at least as long.
func withoutBlocks(text string) string {
	var shown strings.Builder
	fence := ""
	mark := regexp.MustCompile("^ *(```+)")
	for line := range strings.Lines(text) {
		found := mark.FindStringSubmatch(line)
		switch {
		case found == nil && fence == "":
			shown.WriteString(line)
		case found != nil && fence == "":
			fence = found[1]
		case found != nil && strings.HasPrefix(found[1], fence):
			fence = ""
		}
	}
	return shown.String()
}

// anchor returns the link target of a heading, as GitHub makes it.
func (p *prose) anchor(heading string) string {
	heading = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(heading, "$1")
	heading = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`).ReplaceAllString(strings.ToLower(heading), "")
	name := strings.ReplaceAll(heading, " ", "-")
	for anchor, i := name, 1; ; i++ {
		if !slices.Contains(p.anchors, anchor) {
			return anchor
		}
		anchor = fmt.Sprintf("%s-%d", name, i)
	}
}

// leads returns an error that says why a link on a page has no target.
func leads(all map[string]prose, path, link string) error {
	target, err := url.Parse(link)
	if err != nil {
		return err
	}
	if target.Scheme != "" {
		return nil
	}
	to := path
	if target.Path != "" {
		to = filepath.ToSlash(filepath.Join(filepath.Dir(path), target.Path))
	}
	if strings.HasPrefix(to, "../") || strings.HasPrefix(target.Path, "/") {
		return fmt.Errorf("%s points outside of the checkout", link)
	}
	if _, err := os.Stat(filepath.Join(root, to)); err != nil {
		return fmt.Errorf("%s: there is no %s", link, to)
	}
	if target.Fragment != "" && !slices.Contains(all[to].anchors, target.Fragment) {
		return fmt.Errorf("%s: %s has no such heading", link, to)
	}
	return nil
}
