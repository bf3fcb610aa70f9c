package validate

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/validation"
)

//go:generate go test . -count=1 -run ^TestRulesPage$ -update

// page holds the texts of docs/rules.md besides the rules.
type page struct {
	Intro, Prefix, Class, Written, Reading string
	OnMux, OnChannel, OnRoute              []setting
	WrittenKeys                            []written
	Grammar                                []string
	Limits                                 []limit
}

// setting is an annotation that users write.
type setting struct {
	Key, Grammar, Default, Meaning string
	Examples                       []string
	// OnGateways is true if the annotation has an effect only on a mux on gateways.
	OnGateways bool
}

type written struct{ Key, Where, Meaning string }

type limit struct{ What, Limit string }

func loadPage(t *testing.T) page {
	t.Helper()
	data := must[[]byte](t)(os.ReadFile("testdata/page.yaml"))
	var p page
	if err := yaml.UnmarshalStrict(data, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRulesPage writes the page. Other tests compare its contents with the code, and with the tests of the rules.
func TestRulesPage(t *testing.T) {
	p := loadPage(t)
	var b strings.Builder
	b.WriteString("<!-- Made by go generate ./cmd/svcmux/validate from its rules/ and testdata/page.yaml. " +
		"-->\n\n# The rules\n\n")
	b.WriteString(p.Intro + "\n\n## Check your files\n\n```text\n" + helpText + "```\n\n")
	b.WriteString("## Annotations\n\n" + p.Prefix + "\n\n### On a mux\n\n" + settings(p.OnMux))
	b.WriteString("\n### On a channel\n\n" + p.Class + "\n\n" + settings(p.OnChannel))
	b.WriteString("\n### On a route of the Gateway API\n\nOn a TCPRoute or a UDPRoute " +
		"([gateway-api.md](gateway-api.md)).\n\n" + settings(p.OnRoute))
	b.WriteString("\n### Not yours\n\n" + p.Written + "\n\n" + writtenKeys(p.WrittenKeys))
	b.WriteString("\n## How values are written\n\n")
	for _, line := range p.Grammar {
		b.WriteString("- " + line + "\n")
	}
	b.WriteString("\n## Limits\n\n| | |\n| --- | --- |\n")
	for _, l := range p.Limits {
		fmt.Fprintf(&b, "| %s | %s |\n", l.What, l.Limit)
	}
	b.WriteString("\n## Reading the rules\n\n" + p.Reading + "\n")
	for _, c := range must[[]chapter](t)(chapters()) {
		b.WriteString("\n## " + c.Title + "\n\n" + c.Intro + "\n")
		for _, r := range c.Rules {
			b.WriteString(ruleText(t, r))
		}
	}
	golden.File(t, "../../../docs/rules.md", expanded(t, b.String()))
}

func settings(all []setting) string {
	text := "| annotation | value | without it | effect |\n| --- | --- | --- | --- |\n"
	for _, s := range all {
		text += fmt.Sprintf("| `%s` | %s | %s | %s |\n", s.Key, s.Grammar, s.Default, s.Meaning)
	}
	return text
}

func writtenKeys(all []written) string {
	text := "| name | on | meaning |\n| --- | --- | --- |\n"
	for _, w := range all {
		text += fmt.Sprintf("| `%s` | %s | %s |\n", w.Key, w.Where, w.Meaning)
	}
	return text
}

func ruleText(t *testing.T, r rule) string {
	t.Helper()
	text := fmt.Sprintf("\n### %s\n\n%s %s\n", r.Reason, r.About, r.Why)
	for _, e := range r.Examples {
		text += "\n```yaml\n" + e.Mistake + "```\n\n```\n"
		for _, f := range judged(t, e.Mistake).Findings {
			text += fmt.Sprintf("%s: %s\n", f.Severity, f.Message)
		}
		text += "```\n\nMended:\n\n```yaml\n" + e.Mended + "```\n"
	}
	return text
}

// expanded replaces {{Names}} by the code's own numbers.
func expanded(t *testing.T, text string) string {
	t.Helper()
	text = strings.ReplaceAll(text, "{{DefaultPrefix}}", validation.DefaultPrefix)
	for name, value := range limits(t) {
		text = strings.ReplaceAll(text, "{{"+name+"}}", value)
	}
	if _, after, found := strings.Cut(text, "{{"); found {
		t.Errorf("limits.go has no constant {{%.20s", after)
	}
	return text
}

// limits evaluates the constants of validation/limits.go, exported or not.
func limits(t *testing.T) map[string]string {
	t.Helper()
	files := token.NewFileSet()
	file := must[*ast.File](t)(parser.ParseFile(files, "../../../validation/limits.go", nil, 0))
	checked := must[*types.Package](t)((&types.Config{}).Check("limits", files, []*ast.File{file}, nil))
	all := map[string]string{}
	for _, name := range checked.Scope().Names() {
		if c, ok := checked.Scope().Lookup(name).(*types.Const); ok {
			all[name] = constant.ToInt(c.Val()).ExactString()
		}
	}
	return all
}

func TestEveryLimitIsOnThePage(t *testing.T) {
	text := fmt.Sprint(loadPage(t).Limits)
	for name := range limits(t) {
		if !strings.Contains(text, "{{"+name+"}}") {
			t.Errorf("%s of limits.go is missing in the table of limits", name)
		}
	}
}

func TestEveryKeyIsOnThePage(t *testing.T) {
	p := loadPage(t)
	listed := map[string]bool{}
	for _, s := range slices.Concat(p.OnMux, p.OnChannel, p.OnRoute) {
		listed[s.Key] = true
	}
	for _, w := range p.WrittenKeys {
		listed[w.Key] = true
	}
	keys := reflect.ValueOf(must[validation.Language](t)(validation.New("p", "n")).Keys())
	for i := range keys.NumField() {
		name := strings.TrimPrefix(keys.Field(i).String(), "p/")
		if !listed[name] {
			t.Errorf("no table of the page has %s", name)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("%s is on the page, but the language has no such key", name)
	}
}

func TestExamplesOfSettingsAreClean(t *testing.T) {
	p := loadPage(t)
	for _, table := range []struct {
		kind     validation.Kind
		settings []setting
	}{{validation.IsMux, p.OnMux}, {validation.IsChannel, p.OnChannel}} {
		for _, s := range table.settings {
			if len(s.Examples) == 0 {
				t.Errorf("%s on a %s has no example", s.Key, table.kind)
			}
			for _, value := range s.Examples {
				svc := good(table.kind)
				svc.Annotations[validation.DefaultPrefix+"/"+s.Key] = value
				if s.OnGateways {
					class := "gateway." + validation.DefaultPrefix + "/rack"
					svc.Spec.LoadBalancerClass = &class
				}
				text := string(must[[]byte](t)(yaml.Marshal(svc)))
				if rep := judged(t, text); rep.Muxes+rep.Channels != 1 || len(rep.Findings)+len(rep.Unreadable) > 0 {
					t.Errorf("%s: %q on a %s: %+v", s.Key, value, table.kind, rep)
				}
			}
		}
	}
	for _, s := range p.OnRoute {
		for _, value := range s.Examples {
			if rep := judged(t, goodRoute(s.Key, value)); rep.Routes != 1 || len(rep.Findings)+len(rep.Unreadable) > 0 {
				t.Errorf("%s: %q on a route: %+v", s.Key, value, rep)
			}
		}
	}
}

// goodRoute returns a route without findings, with an annotation more.
func goodRoute(key, value string) string {
	annotations := map[string]string{validation.DefaultPrefix + "/gateway": "infra/edge"}
	annotations[validation.DefaultPrefix+"/"+key] = value
	data, _ := yaml.Marshal(map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "TCPRoute",
		"metadata": map[string]any{"name": "a", "annotations": annotations},
		"spec":     map[string]any{"parentRefs": []any{map[string]any{"kind": "ListenerSet", "name": "a"}}},
	})
	return string(data)
}

// good returns a mux or a channel without findings.
func good(kind validation.Kind) *corev1.Service {
	svc := &corev1.Service{}
	svc.APIVersion, svc.Kind, svc.Name = "v1", "Service", "web"
	svc.Annotations = map[string]string{}
	svc.Spec.Type = corev1.ServiceTypeLoadBalancer
	svc.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "grpc", Port: 9090}}
	if kind.Mux() {
		svc.Annotations[validation.DefaultPrefix+"/multiplexer"] = "true"
		return svc
	}
	class, no := validation.DefaultPrefix+"/mux", false
	svc.Spec.LoadBalancerClass, svc.Spec.AllocateLoadBalancerNodePorts = &class, &no
	return svc
}
