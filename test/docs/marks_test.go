package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/docs/page"
)

const root = "../.."

// pages returns the paths of all pages in the checkout, sorted.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "charts/*/*.md", ".github/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			all = append(all, strings.TrimPrefix(path, root+"/"))
		}
	}
	if len(all) < 10 {
		t.Fatalf("too few pages found: %v", all)
	}
	return all
}

func read(t *testing.T, path string) []page.Block {
	t.Helper()
	blocks, err := page.Read(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return blocks
}

func TestEachCommandIsRunOrMarked(t *testing.T) {
	for _, path := range pages(t) {
		for _, block := range read(t, path) {
			if err := check(path, block); err != nil {
				t.Errorf("%s:%d: %v", path, block.Line, err)
			}
		}
	}
}

// check returns an error if a block has no valid mark.
func check(path string, block page.Block) error {
	verb, what, marked := strings.Cut(block.Mark, ": ")
	if marked && verb == "file" {
		return nil
	}
	if block.Language != "sh" {
		for line := range strings.Lines(block.Text) {
			if block.Language == "" && page.IsCommand(line) {
				return fmt.Errorf("%q looks like a command: make this a block of sh, and mark it", strings.TrimSpace(line))
			}
		}
		return nil
	}
	switch {
	case verb == "test" && strings.HasPrefix(what, "cluster"):
		return checkWords(block, strings.Split(what, ", ")[1:])
	case verb == "test" && strings.HasSuffix(what, ".md"):
		return checkPart(block, what)
	case verb == "test":
		return checkOther(path, what)
	case marked && (verb == "needs" || verb == "not run"):
		return nil
	}
	return fmt.Errorf("the line before this sh block must be its mark, such as <!-- test: cluster -->; it is %q",
		block.Mark)
}

func checkWords(block page.Block, words []string) error {
	for _, word := range words {
		switch word {
		case "bare":
		case "fails", "until":
			if block.Output == nil {
				return fmt.Errorf("%q says nothing without an <!-- output -->", word)
			}
		default:
			return fmt.Errorf("unknown word %q: a block for the cluster can be bare, fails, until", word)
		}
	}
	return nil
}

// checkPart checks that the other page has each of the block's lines in a block that is run.
func checkPart(block page.Block, other string) error {
	blocks, err := page.Read(filepath.Join(root, "docs", other))
	if err != nil {
		return err
	}
	for line := range strings.Lines(block.Text) {
		line = strings.TrimSpace(line)
		if !slices.ContainsFunc(blocks, func(b page.Block) bool { return isFor(b) && strings.Contains(b.Text, line) }) {
			return fmt.Errorf("docs/%s doesn't run %q", other, line)
		}
	}
	return nil
}

// checkOther checks that a test in the folder names the page.
func checkOther(path, folder string) error {
	sources, err := filepath.Glob(filepath.Join(root, "test", folder, "*_test.go"))
	if err != nil {
		return err
	}
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), filepath.Base(path)) {
			return nil
		}
	}
	return fmt.Errorf("no test in test/%s names %s", folder, filepath.Base(path))
}

func TestMarksAreChecked(t *testing.T) {
	shown := "x"
	for name, tc := range map[string]struct {
		block page.Block
		good  bool
	}{
		"for the cluster":              {page.Block{Language: "sh", Mark: "test: cluster"}, true},
		"a refusal that is shown":      {page.Block{Language: "sh", Mark: "test: cluster, fails", Output: &shown}, true},
		"a refusal that isn't shown":   {page.Block{Language: "sh", Mark: "test: cluster, fails"}, false},
		"an unknown word":              {page.Block{Language: "sh", Mark: "test: cluster, maybe"}, false},
		"another test names the page":  {page.Block{Language: "sh", Mark: "test: e2e/runbook"}, true},
		"another test doesn't name it": {page.Block{Language: "sh", Mark: "test: e2e/ledger"}, false},
		"another page runs the command": {
			page.Block{Language: "sh", Mark: "test: getting-started.md", Text: "helm test svc-mux\n"}, true},
		"no other page runs the command": {
			page.Block{Language: "sh", Mark: "test: getting-started.md", Text: "helm rest svc-mux\n"}, false},
		"needs what no test has":    {page.Block{Language: "sh", Mark: "needs: a cloud"}, true},
		"not run, without a reason": {page.Block{Language: "sh", Mark: "not run"}, false},
		"no mark":                   {page.Block{Language: "sh"}, false},
		"commands in a bare block":  {page.Block{Text: "kubectl get pods\n"}, false},
		"commands in a file":        {page.Block{Text: "kubectl get pods\n", Mark: "file: x.sh"}, true},
		"a picture":                 {page.Block{Text: "a -> b\n"}, true},
		"another language":          {page.Block{Language: "go", Text: "go func() {}\n"}, true},
		"a comment that is no mark": {page.Block{Language: "sh", Mark: "look: here"}, false},
		"not run, with a reason":    {page.Block{Language: "sh", Mark: "not run: it takes a day"}, true},
	} {
		if err := check("docs/runbook.md", tc.block); (err == nil) != tc.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}
