package validate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/validation"
)

// judged returns the command's report on one file.
func judged(t *testing.T, text string) *report {
	t.Helper()
	lang := must[validation.Language](t)(validation.New(validation.DefaultPrefix, "svc-mux"))
	rep := &report{prefix: lang.Prefix()}
	judge{lang: lang, namespace: "default", rep: rep}.file("service.yaml", []byte(text))
	rep.Files = 1
	rep.sort()
	return rep
}

func TestRuleExamplesShowTheirRuleAndNothingElse(t *testing.T) {
	for _, c := range must[[]chapter](t)(chapters()) {
		for _, r := range c.Rules {
			for i, e := range r.Examples {
				t.Run(string(r.Reason)+"/"+strconv.Itoa(i), func(t *testing.T) {
					rep := judged(t, e.Mistake)
					if len(rep.Findings) == 0 || len(rep.Unreadable) > 0 {
						t.Errorf("the example of a mistake has no finding: %+v", rep)
					}
					for _, f := range rep.Findings {
						if f.Reason != r.Reason || f.Severity != r.Severity {
							t.Errorf("the example of a mistake shows %s %s: %s", f.Severity, f.Reason, f.Message)
						}
					}
					rep = judged(t, e.Mended)
					if rep.Muxes+rep.Channels+rep.Routes != 1 || len(rep.Findings)+len(rep.Unreadable) > 0 {
						t.Errorf("the corrected example isn't a clean mux, channel or route: %+v", rep)
					}
				})
			}
		}
	}
}

func TestEveryReasonHasOneRule(t *testing.T) {
	declared := map[string]bool{}
	for _, file := range []string{"../../../validation/reasons.go", "../../../validation/routes.go", "decode.go"} {
		for _, reason := range reasonsIn(t, file) {
			declared[reason] = true
		}
	}
	ruled := map[string]bool{}
	for _, c := range must[[]chapter](t)(chapters()) {
		for _, r := range c.Rules {
			if ruled[string(r.Reason)] || !declared[string(r.Reason)] {
				t.Errorf("%s has two rules, or isn't a reason", r.Reason)
			}
			if r.About == "" || r.Why == "" || len(r.Examples) == 0 {
				t.Errorf("%s needs about, why and an example", r.Reason)
			}
			ruled[string(r.Reason)] = true
		}
	}
	for reason := range declared {
		if !ruled[reason] {
			t.Errorf("%s has no rule in rules/*.yaml", reason)
		}
	}
}

// reasonsIn returns the values of a file's constants of type Reason.
func reasonsIn(t *testing.T, path string) []string {
	t.Helper()
	file := must[*ast.File](t)(parser.ParseFile(token.NewFileSet(), path, nil, 0))
	var reasons []string
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasSuffix(typeName(spec.Type), "Reason") {
			return true
		}
		for _, value := range spec.Values {
			reasons = append(reasons, must[string](t)(strconv.Unquote(value.(*ast.BasicLit).Value)))
		}
		return true
	})
	if len(reasons) == 0 {
		t.Errorf("%s declares no reason: has it moved?", path)
	}
	return reasons
}

func typeName(expr ast.Expr) string {
	switch typed := expr.(type) {
	case *ast.Ident:
		return typed.Name
	case *ast.SelectorExpr:
		return typed.Sel.Name
	}
	return ""
}
