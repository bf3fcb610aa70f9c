package site

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/net/html"
)

// TestFaultsAreFound checks that each kind of fault on a page is found.
func TestFaultsAreFound(t *testing.T) {
	for name, tc := range map[string]struct{ page, want string }{
		"a good page": {
			`<a href="b.html#part">b</a> <a href="#top">up</a> <img src="a.svg" alt="A"><a href="https://example.com/">far</a>`,
			""},
		"a page that doesn't exist":    {`<a href="c.html">c</a>`, "c.html doesn't exist"},
		"an anchor that doesn't exist": {`<a href="b.html#no">b</a>`, "b.html has no anchor #no"},
		"an anchor of the page itself": {`<a href="#no">a</a>`, "a.html has no anchor #no"},
		"a Markdown page":              {`<a href="b.md">b</a>`, "b.md doesn't exist"},
		"a folder": {`<a href="sub">b</a>`, "sub is a folder: a browser without a server shows no " +
			"page"},
		"an address from the root":     {`<a href="/b.html">b</a>`, "/b.html depends on where the folder lies"},
		"an empty link":                {`<a href="">b</a>`, "a link leads nowhere"},
		"a picture that doesn't exist": {`<img src="no.png" alt="No">`, "no.png doesn't exist"},
		"a picture without words":      {`<img src="a.svg">`, "the picture a.svg has no alt"},
		"a picture of another host": {`<img src="https://example.com/a.png" alt="A">`,
			"the page requests https://example.com/a.png"},
		"a script of another host": {`<script src="//example.com/a.js"></script>`, "the page requests " +
			"//example.com/a.js"},
		"a style sheet of another host": {`<link rel="stylesheet" href="https://example.com/a.css">`,
			"the page requests https://example.com/a.css"},
		"a frame of another host": {`<iframe src="https://example.com/"></iframe>`, "the page requests " +
			"https://example.com/"},
		"a form that sends to another": {`<form action="https://example.com/"></form>`,
			"the page requests https://example.com/"},
		"pictures for other screens": {`<img src="a.svg" alt="A" srcset="https://example.com/a.png 2x">`,
			"srcset isn't checked"},
		"a style that loads something": {`<p style="background: url(https://example.com/a.png)">`,
			"the page requests https://example.com/a.png"},
		"a style sheet with an import": {`<style>@import "https://example.com/a.css";</style>`,
			"the page requests https://example.com/a.css"},
		"a browser that connects early": {`<link rel="preconnect" href="https://example.com">`,
			"the page requests https://example.com"},
		"two elements with the same name": {`<p id="x"></p><p id="x"></p>`, "two elements have the id x"},
		"left-out HTML":                   {`<!-- raw HTML omitted -->`, "the Markdown has HTML, which the site leaves out"},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{
				"a.html": {Data: []byte(`<p id="top">` + tc.page)}, "b.html": {Data: []byte(`<h2 id="part">Part</h2>`)},
				"a.svg": {}, "sub/c.txt": {},
			}
			folder := t.TempDir()
			if err := os.CopyFS(folder, files); err != nil {
				t.Fatal(err)
			}
			got := faults(t, folder)
			if tc.want == "" && len(got) > 0 || tc.want != "" && !slices.Contains(got, "a.html: "+tc.want) {
				t.Errorf("faults %q, want %q", got, tc.want)
			}
		})
	}
}

// document holds what a page links to and loads, and what can be linked to.
type document struct {
	links, loads, anchors []string
	faults                []string
}

// faults returns all faults of the pages and style sheets in a folder.
func faults(t *testing.T, folder string) []string {
	t.Helper()
	documents := map[string]document{}
	for _, path := range files(t, folder, "*.html") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		documents[path] = parse(t, string(text))
	}
	var all []string
	for path, d := range documents {
		name := filepath.Base(path)
		for _, fault := range d.faults {
			all = append(all, name+": "+fault)
		}
		for _, load := range d.loads {
			if target, err := url.Parse(load); err != nil || target.Scheme != "" || target.Host != "" {
				all = append(all, fmt.Sprintf("%s: the page requests %s", name, load))
				continue
			}
			all = append(all, missing(documents, path, load)...)
		}
		for _, link := range d.links {
			all = append(all, missing(documents, path, link)...)
		}
	}
	for _, path := range files(t, folder, "*.css") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, load := range loadsOfStyle(string(text)) {
			all = append(all, fmt.Sprintf("%s: the style sheet loads %s", filepath.Base(path), load))
		}
	}
	slices.Sort(all)
	return all
}

func files(t *testing.T, folder, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// missing returns a fault if a link of a page has no target.
func missing(documents map[string]document, path, link string) []string {
	fault := func(format string, args ...any) []string {
		return []string{filepath.Base(path) + ": " + fmt.Sprintf(format, args...)}
	}
	target, err := url.Parse(link)
	switch {
	case err != nil:
		return fault("%v", err)
	case link == "":
		return fault("a link leads nowhere")
	case target.Scheme == "http" || target.Scheme == "https":
		return nil // other sites aren't checked
	case target.Scheme != "" || strings.HasPrefix(target.Path, "/"):
		return fault("%s depends on where the folder lies", link)
	}
	to := path
	if target.Path != "" {
		to = filepath.Join(filepath.Dir(path), filepath.FromSlash(target.Path))
	}
	switch info, err := os.Stat(to); {
	case err != nil:
		return fault("%s doesn't exist", target.Path)
	case info.IsDir():
		return fault("%s is a folder: a browser without a server shows no page", target.Path)
	}
	if target.Fragment != "" && !slices.Contains(documents[to].anchors, target.Fragment) {
		return fault("%s has no anchor #%s", filepath.Base(to), target.Fragment)
	}
	return nil
}

// parse reads a page. It finds everything that a browser loads because of attributes and styles. Only a browser shows
// what scripts load.
func parse(t *testing.T, text string) document {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var d document
	for node := range root.Descendants() {
		switch node.Type {
		case html.ElementNode:
			d.element(node)
		case html.CommentNode:
			if strings.Contains(node.Data, "raw HTML omitted") {
				d.faults = append(d.faults, "the Markdown has HTML, which the site leaves out")
			}
		}
	}
	return d
}

func (d *document) element(node *html.Node) {
	described := false
	source := ""
	for _, attribute := range node.Attr {
		value := attribute.Val
		switch attribute.Key {
		case "id":
			if slices.Contains(d.anchors, value) {
				d.faults = append(d.faults, "two elements have the id "+value)
			}
			d.anchors = append(d.anchors, value)
		case "alt":
			described = true
		case "href":
			if node.Data == "a" || node.Data == "area" {
				d.links = append(d.links, value)
			} else {
				d.loads = append(d.loads, value)
			}
		case "src", "data", "poster", "action", "formaction", "ping", "background":
			source = value
			d.loads = append(d.loads, value)
		case "srcset":
			d.faults = append(d.faults, "srcset isn't checked")
		case "style":
			d.loads = append(d.loads, loadsOfStyle(value)...)
		}
	}
	if node.Data == "img" && !described {
		d.faults = append(d.faults, fmt.Sprintf("the picture %s has no alt", source))
	}
	if node.Data == "style" && node.FirstChild != nil {
		d.loads = append(d.loads, loadsOfStyle(node.FirstChild.Data)...)
	}
}

// loadsOfStyle returns the addresses in a style sheet.
func loadsOfStyle(text string) []string {
	var loads []string
	for _, found := range regexp.MustCompile(`(?:url\(\s*|@import\s+)["']?([^"')\s]+)`).FindAllStringSubmatch(text, -1) {
		loads = append(loads, found[1])
	}
	return loads
}
