package validate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFaultsThatOnlyFilesHave(t *testing.T) {
	const head = "apiVersion: v1\nkind: Service\n"
	tests := map[string]struct {
		text string
		want []string // REASON line: the message
	}{
		"a boolean for an annotation": {
			head + "metadata: {name: a, annotations: {x: yes}}",
			[]string{`AnnotationNotText 3: metadata.annotations[x]: yes is not text: put it in quotes, "yes"`},
		},
		"a number is reported as written": {
			head + "metadata:\n  name: a\n  annotations:\n    x: 1e3\n    z: 080",
			[]string{
				`AnnotationNotText 6: metadata.annotations[x]: 1e3 is not text: put it in quotes, "1e3"`,
				`AnnotationNotText 7: metadata.annotations[z]: 080 is not text: put it in quotes, "080"`,
			},
		},
		"a list for an annotation": {
			head + "metadata: {name: a, annotations: {x: [1, b]}}",
			[]string{`AnnotationNotText 3: metadata.annotations[x]: [1,"b"] is not text: put it in quotes, "[1,\"b\"]"`},
		},
		"a null annotation is an empty one": {head + "metadata: {name: a, annotations: {x: null}}", nil},
		"nulls that Kubernetes writes": {head + "metadata: {name: a, creationTimestamp: null}\nstatus: {loadBalancer: {}}",
			nil},
		"a field in wrong case": {
			head + "spec:\n  loadbalancerClass: x\n  externaltrafficpolicy: Local",
			[]string{
				"UnknownField 4: spec.loadbalancerClass: a Service has no such field, so it does nothing: did you mean " +
					"loadBalancerClass?",
				"UnknownField 5: spec.externaltrafficpolicy: a Service has no such field, so it does nothing: did you mean " +
					"externalTrafficPolicy?",
			},
		},
		"a field without a similar one": {
			head + "spec: {flavour: x}\nstate: x",
			[]string{
				"UnknownField 3: spec.flavour: a Service has no such field, so it does nothing",
				"UnknownField 4: state: a Service has no such field, so it does nothing",
			},
		},
		"unknown fields in a port and in a condition": {
			head + "spec: {ports: [{port: 1}, {port: 2, nodeport: 3}]}\nstatus: {conditions: [{Type: x}]}",
			[]string{
				"UnknownField 3: spec.ports[1].nodeport: a Service has no such field, so it does nothing: did you mean nodePort?",
				"UnknownField 4: status.conditions[0].Type: a Service has no such field, so it does nothing: did you mean type?",
			},
		},
		"an unknown field in an unknown field": {
			head + "spec: {Ports: {x: 1}}\nmetaData: {name: x}",
			[]string{
				"UnknownField 3: spec.Ports: a Service has no such field, so it does nothing: did you mean ports?",
				"UnknownField 4: metaData: a Service has no such field, so it does nothing: did you mean metadata?",
			},
		},
		"a field twice": {
			head + "metadata:\n  name: a\n  labels: {x: a, x: b}\n  name: b",
			[]string{
				"RepeatedField 5: metadata.labels[x]: is set twice, and only the last one counts: keep one",
				"RepeatedField 6: metadata.name: is set twice, and only the last one counts: keep one",
			},
		},
		"a field twice in JSON": {
			`{"apiVersion": "v1", "kind": "Service", "spec": {"type": "NodePort",` + "\n" + `"type": "LoadBalancer"}}`,
			[]string{"RepeatedField 2: spec.type: is set twice, and only the last one counts: keep one"},
		},
		"a field more than twice": {
			head + "metadata:\n  name: a\n  name: b\n  name: c\n",
			[]string{"RepeatedField 6: metadata.name: is set 3 times, and only the last one counts: keep one"},
		},
		"the fields of a repeated field": {
			head + "metadata: {name: a, name: a}\nmetadata: {name: b, name: c}\n",
			[]string{
				"RepeatedField 4: metadata: is set twice, and only the last one counts: keep one",
				"RepeatedField 4: metadata.name: is set twice, and only the last one counts: keep one",
			},
		},
		"names with terminal escapes": {
			head + `metadata: {name: "\e[31m"}` + "\nspec: {\"\\e[2J\": 1}",
			[]string{`UnknownField 4: "spec.\x1b[2J": a Service has no such field, so it does nothing`},
		},
		"a number beyond its bounds": {
			head + "metadata: {name: a}\nspec:\n  ports:\n  - port: 4294967376",
			[]string{"unreadable 6: Service default/a can't be read: spec.ports[0].port: number 4294967376 where Kubernetes " +
				"wants a whole number"},
		},
		"a list for the metadata": {
			head + "metadata: [a]",
			[]string{"unreadable 3: Service default/(no name) can't be read: metadata: array where Kubernetes wants fields " +
				"(key: value)"},
		},
		"the second of two ports": {
			head + "metadata: {name: a}\nspec:\n  ports:\n  - port: 80\n  - name: b\n    port: eighty\n",
			[]string{"unreadable 8: Service default/a can't be read: spec.ports[1].port: string where Kubernetes wants a " +
				"whole number"},
		},
		"a string for a port": {
			head + "metadata: {name: a}\nspec:\n  ports:\n  - {port: 80}\n  - words\n",
			[]string{"unreadable 7: Service default/a can't be read: spec.ports[1]: string where Kubernetes wants fields " +
				"(key: value)"},
		},
		"a number among source ranges": {
			head + "metadata: {name: a}\nspec:\n  loadBalancerSourceRanges:\n  - 10.0.0.0/8\n  - 10\n",
			[]string{"unreadable 7: Service default/a can't be read: spec.loadBalancerSourceRanges[1]: number where " +
				"Kubernetes wants text"},
		},
		"a number for a label": {
			head + "metadata:\n  name: a\n  labels:\n    a: b\n    x: 1\n",
			[]string{"unreadable 7: Service default/a can't be read: metadata.labels[x]: number where Kubernetes wants text"},
		},
		"a Service in a List": {
			"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata: {name: a}\n  spec:\n    " +
				"ports:\n    - port: 80\n    - port: x\n",
			[]string{"unreadable 10: Service default/a can't be read: spec.ports[1].port: string where Kubernetes wants a " +
				"whole number"},
		},
		"only the first of two wrong types is reported": {
			head + "metadata: {name: a}\nspec:\n  ports:\n  - port: x\n  - port: y\n  type: [z]\n",
			[]string{"unreadable 6: Service default/a can't be read: spec.ports[0].port: string where Kubernetes wants a " +
				"whole number"},
		},
		"a wrong type beside a field in wrong case": {
			head + "metadata: {name: a}\nspec:\n  Ports: x\n  ports: [{port: x}]\n",
			[]string{"unreadable 6: Service default/a can't be read: spec.ports[0].port: string where Kubernetes wants a " +
				"whole number"},
		},
		"a kind in lower case": {
			"apiVersion: v1\nkind: service\nmetadata: {name: a}\n",
			[]string{
				`UnknownKind 2: kind: Kubernetes has no "service" of apiVersion "v1", ` +
					`so this isn't judged: write apiVersion: v1, kind: Service`},
		},
		"a Service of another built-in group": {
			"apiVersion: core/v1\nkind: Service\nmetadata: {name: a}\n",
			[]string{
				`UnknownKind 1: apiVersion: Kubernetes has no "Service" of apiVersion "core/v1", ` +
					`so this isn't judged: write apiVersion: v1, kind: Service`},
		},
		"a target port of a wrong type": {
			head + "metadata: {name: a}\nspec: {ports: [{port: 1, targetPort: 1.5}]}",
			[]string{"unreadable 4: Service default/a can't be read: spec.ports[0].targetPort: number 1.5 where Kubernetes " +
				"wants a whole number"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			rep := judged(t, tc.text)
			var got []string
			for _, f := range rep.Findings {
				got = append(got, strings.Join([]string{string(f.Reason), " ", itoa(f.Line), ": ", f.Message}, ""))
			}
			for _, u := range rep.Unreadable {
				got = append(got, "unreadable "+itoa(u.Line)+": "+u.Message)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReportedSlipsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Service\nmetadata:\n  annotations:\n")
	for i := range 5000 {
		b.WriteString("    a" + itoa(i) + ": 1\n")
	}
	b.WriteString("spec:\n")
	for i := range 5000 {
		b.WriteString("  a" + itoa(i) + ": 1\n  twice" + itoa(i) + ": 2\n  twice" + itoa(i) + ": 2\n")
	}
	if n := len(judged(t, b.String()).Findings); n != 3*maxMistakes {
		t.Errorf("%d slips are reported, want %d of each sort", n, maxMistakes)
	}
}

func TestRepeatedKeyIsReportedOnce(t *testing.T) {
	text := "apiVersion: v1\nkind: Service\nmetadata:\n  annotations:\n    a:\n" +
		strings.Repeat("      b: \"1\"\n", 190_000)
	var got []string
	for _, f := range judged(t, text).Findings {
		if f.Reason == RepeatedField {
			got = append(got, f.Message)
		}
	}
	want := []string{"metadata.annotations[a].b: is set 190000 times, and only the last one counts: keep one"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
