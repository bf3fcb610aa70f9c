package corpus

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	c, err := parse(`
about: a filled one
like: channel
old: {}
service:
  metadata:
    name: web
    annotations: {svc-mux.nowake.ai/external-ports: "${X}"}
  spec: {selector: null, allocateLoadBalancerNodePorts: true}
fill: {X: {text: "p%d:auto,", from: 1, to: 5, step: 2}}
ports: {from: 1, to: 2}
deny: [InvalidPort @ spec.ports, InvalidPortMapping @ external-ports x2]
apiserver: refuses
`, "file", "file-000")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Service.Annotations["svc-mux.nowake.ai/external-ports"]; got != "p1:auto,p3:auto,p5:auto," {
		t.Errorf("annotation is %q", got)
	}
	if c.Service.Name != "web" || c.Old.Name != "web" || c.Service.Namespace != Namespace {
		t.Errorf("names are %s and %s, namespace %s", c.Service.Name, c.Old.Name, c.Service.Namespace)
	}
	if c.Service.Spec.Selector != nil || c.Old.Spec.Selector["app"] != "web" {
		t.Errorf("selectors are %v and %v", c.Service.Spec.Selector, c.Old.Spec.Selector)
	}
	if len(c.Service.Spec.Ports) != 2 || c.Service.Spec.Ports[1].Name != "p2" || !c.Impossible {
		t.Errorf("ports are %v, impossible is %v", c.Service.Spec.Ports, c.Impossible)
	}
	const mapping = "metadata.annotations[svc-mux.nowake.ai/external-ports]"
	want := []Expect{{"InvalidPortMapping", mapping}, {"InvalidPortMapping", mapping}, {"InvalidPort", "spec.ports"}}
	if diff := cmp.Diff(want, c.Deny); diff != "" {
		t.Errorf("deny (-want +got):\n%s", diff)
	}
}

func TestParseRefusesSlips(t *testing.T) {
	for name, text := range map[string]string{
		"a case without a description":  "like: channel",
		"an unknown field":              "about: x\nlike: channel\ndenied: [x]",
		"an unknown base":               "about: x\nlike: chanel",
		"an unknown field of a Service": "about: x\nlike: channel\nservice: {spec: {prots: []}}",
		"an invalid apiserver value":    "about: x\nlike: channel\napiserver: accepts",
	} {
		t.Run(name, func(t *testing.T) {
			if c, err := parse(text, "file", "file-000"); err == nil {
				t.Errorf("read as %+v", c)
			}
		})
	}
}

func TestServicesHaveUniqueNames(t *testing.T) {
	cases, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range cases {
		key := c.Service.Namespace + "/" + c.Service.Name
		if seen[key] || strings.HasSuffix(key, "/") {
			t.Errorf("%s: name %s is empty, or not unique", c.Name(), key)
		}
		seen[key] = true
	}
}
