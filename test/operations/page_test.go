package operations

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const docs = "../../docs/"

// TestEachReasonHasAParagraph checks that each reason has a paragraph with its cause and its remedy. Every other
// heading on the page must be an alert's or one of the page's own.
func TestEachReasonHasAParagraph(t *testing.T) {
	page, rules := text(t, docs+"operations.md"), text(t, docs+"rules.md")
	known := map[string]bool{}
	for _, folder := range []string{"reconciler/plan", "reconciler/forecast", "certs/guard"} {
		found := reasons(t, folder)
		if len(found) < 5 {
			t.Fatalf("%s: only %d reasons found, want more", folder, len(found))
		}
		for _, reason := range found {
			known[reason] = true
			if !strings.Contains(page, "\n### "+reason+"\n\n") {
				t.Errorf("docs/operations.md has no heading %q (%s)", reason, folder)
			}
		}
	}
	for _, reason := range reasons(t, "validation") {
		known[reason] = true
		hasParagraph := strings.Contains(page, "\n### "+reason+"\n\n") // the reconciler finds it in a channel, too
		if !hasParagraph && !strings.Contains(page, "["+reason+"](rules.md#"+strings.ToLower(reason)+")") {
			t.Errorf("docs/operations.md has no link to %s in rules.md", reason)
		}
		if !strings.Contains(rules, "\n### "+reason+"\n") {
			t.Errorf("docs/rules.md has no heading %q", reason)
		}
	}
	for _, heading := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(page, -1) {
		if !known[heading[1]] && !strings.HasPrefix(heading[1], "SvcLbMux") {
			t.Errorf("docs/operations.md: there is no reason %q", heading[1])
		}
	}
}

// TestLinksWithinThePageHaveATarget checks that each link to a heading of the page finds that heading.
func TestLinksWithinThePageHaveATarget(t *testing.T) {
	page := text(t, docs+"operations.md")
	anchors := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		anchors[anchor(heading[1])] = true
	}
	for _, link := range regexp.MustCompile(`\]\(#([^)]+)\)`).FindAllStringSubmatch(page, -1) {
		if !anchors[link[1]] {
			t.Errorf("docs/operations.md links to #%s, but has no such heading", link[1])
		}
	}
}

// anchor returns the link target of a heading.
func anchor(heading string) string {
	heading = regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(heading), "")
	return strings.ReplaceAll(heading, " ", "-")
}

func text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// reasons returns the constants of type Reason in a folder's files.
func reasons(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			if spec, ok := node.(*ast.ValueSpec); ok && isReason(spec.Type) {
				for _, value := range spec.Values {
					if literal, ok := value.(*ast.BasicLit); ok {
						reason, err := strconv.Unquote(literal.Value)
						if err != nil {
							t.Fatal(err)
						}
						found = append(found, reason)
					}
				}
			}
			return true
		})
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// isReason returns whether a type is Reason, from this package or from package validation.
func isReason(kind ast.Expr) bool {
	switch kind := kind.(type) {
	case *ast.Ident:
		return kind.Name == "Reason"
	case *ast.SelectorExpr:
		return kind.Sel.Name == "Reason"
	}
	return false
}
