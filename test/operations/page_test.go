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
	for _, folder := range []string{"reconciler/numbers/plan", "reconciler/numbers/forecast", "certs/guard"} {
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

// TestEachReasonOfGatewaysIsInATable checks that each reason of a mux on gateways, and each fault of a gateway, has a
// row with its meaning and its remedy.
func TestEachReasonOfGatewaysIsInATable(t *testing.T) {
	page := text(t, docs+"operations.md")
	for file, least := range map[string]int{
		"reconciler/addresses/decide/reasons.go": 20, "reconciler/addresses/pool/pool.go": 4, "balancer/report.go": 5,
		"balancer/want/refusals.go":    9,
		"balancer/announce/options.go": 6, "balancer/keepalived/seats.go": 3,
	} {
		found := words(t, file)
		if len(found) < least {
			t.Fatalf("%s: only %d reasons found, want %d", file, len(found), least)
		}
		for _, reason := range found {
			if !hasRow(page, reason) {
				t.Errorf("docs/operations.md has no row for %s (%s)", reason, file)
			}
		}
	}
}

// TestReasonsOfTheGatewayAPIAreNamed checks that the page names the reasons that are ours alone, and links to the page
// whose table has them.
func TestReasonsOfTheGatewayAPIAreNamed(t *testing.T) {
	page := text(t, docs+"operations.md")
	for file, table := range map[string]string{
		"reconciler/gatewayapi/allocate/messages.go": "gateway-api.md",
		"reconciler/gatewayapi/line/mux.go":          "gatewayclass.md",
		"reconciler/gatewayapi/read/attach.go":       "gatewayclass.md",
		"reconciler/gatewayapi/status/news_route.go": "gatewayclass.md",
	} {
		found := words(t, file)
		if len(found) == 0 {
			t.Fatalf("%s: no reason found", file)
		}
		for _, reason := range found {
			if !strings.Contains(page, "`"+reason+"`") {
				t.Errorf("docs/operations.md doesn't name %s (%s)", reason, file)
			}
			if !hasRow(text(t, docs+table), reason) {
				t.Errorf("docs/%s has no row for %s (%s)", table, reason, file)
			}
		}
	}
}

// hasRow returns whether a table of the page has a row whose first or second cell names a reason.
func hasRow(page, reason string) bool {
	return regexp.MustCompile("(?m)^\\|([^|]*\\|)?[^|]*`" + reason + "`").MatchString(page)
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
		if !strings.HasSuffix(file, "_test.go") {
			found = append(found, constants(t, file, func(spec *ast.ValueSpec) bool { return isReason(spec.Type) })...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// words returns the constants of a file that are one word in CamelCase, as reasons are.
func words(t *testing.T, file string) []string {
	t.Helper()
	all := constants(t, "../../"+file, func(*ast.ValueSpec) bool { return true })
	isWord := regexp.MustCompile(`^[A-Z][A-Za-z]+$`)
	return slices.DeleteFunc(all, func(text string) bool { return !isWord.MatchString(text) })
}

// constants returns the string constants of a file that are wanted.
func constants(t *testing.T, file string, isWanted func(*ast.ValueSpec) bool) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !isWanted(spec) {
			return true
		}
		for _, value := range spec.Values {
			literal, ok := value.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				continue
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, text)
		}
		return true
	})
	return found
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
