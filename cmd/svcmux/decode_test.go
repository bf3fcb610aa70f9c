package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatOnlyFilesShow(t *testing.T) {
	const head = "apiVersion: v1\nkind: Service\n"
	tests := map[string]struct {
		text string
		want []string // REASON line: the message
	}{
		"a truth for an annotation": {
			head + "metadata: {name: a, annotations: {x: yes}}",
			[]string{`AnnotationNotText 3: metadata.annotations[x]: yes is not text: put it in quotes, "yes"`},
		},
		"a number keeps its letters": {
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
		"one that Kubernetes writes it in":  {head + "metadata: {name: a, creationTimestamp: null}\nstatus: {loadBalancer: {}}", nil},
		"a field in other letters": {
			head + "spec:\n  loadbalancerClass: x\n  externaltrafficpolicy: Local",
			[]string{
				"UnknownField 4: spec.loadbalancerClass: a Service has no such field, so it does nothing: did you mean loadBalancerClass?",
				"UnknownField 5: spec.externaltrafficpolicy: a Service has no such field, so it does nothing: did you mean externalTrafficPolicy?",
			},
		},
		"one that is nothing like it": {
			head + "spec: {flavour: x}\nstate: x",
			[]string{
				"UnknownField 3: spec.flavour: a Service has no such field, so it does nothing",
				"UnknownField 4: state: a Service has no such field, so it does nothing",
			},
		},
		"one in a port, and in a condition": {
			head + "spec: {ports: [{port: 1}, {port: 2, nodeport: 3}]}\nstatus: {conditions: [{Type: x}]}",
			[]string{
				"UnknownField 3: spec.ports[1].nodeport: a Service has no such field, so it does nothing: did you mean nodePort?",
				"UnknownField 4: status.conditions[0].Type: a Service has no such field, so it does nothing: did you mean type?",
			},
		},
		"one below one": {
			head + "spec: {Ports: {x: 1}}\nmetaData: {name: x}",
			[]string{
				"UnknownField 3: spec.Ports: a Service has no such field, so it does nothing: did you mean ports?",
				"UnknownField 4: metaData: a Service has no such field, so it does nothing: did you mean metadata?",
			},
		},
		"a field twice": {
			head + "metadata:\n  name: a\n  labels: {x: a, x: b}\n  name: b",
			[]string{
				"RepeatedField 5: metadata.labels[x]: is there twice, and only the last one counts: keep one",
				"RepeatedField 6: metadata.name: is there twice, and only the last one counts: keep one",
			},
		},
		"a field twice in JSON": {
			`{"apiVersion": "v1", "kind": "Service", "spec": {"type": "NodePort",` + "\n" + `"type": "LoadBalancer"}}`,
			[]string{"RepeatedField 2: spec.type: is there twice, and only the last one counts: keep one"},
		},
		"names that would break a terminal": {
			head + `metadata: {name: "\e[31m"}` + "\nspec: {\"\\e[2J\": 1}",
			[]string{`UnknownField 4: "spec.\x1b[2J": a Service has no such field, so it does nothing`},
		},
		"a number beyond its bounds": {
			head + "metadata: {name: a}\nspec:\n  ports:\n  - port: 4294967376",
			[]string{"unreadable 5: Service default/a can't be read: spec.ports.port: number 4294967376 where Kubernetes wants a whole number"},
		},
		"a list for the metadata": {
			head + "metadata: [a]",
			[]string{"unreadable 3: Service default/(no name) can't be read: metadata: array where Kubernetes wants fields (key: value)"},
		},
		"a target port of no sort": {
			head + "metadata: {name: a}\nspec: {ports: [{port: 1, targetPort: 1.5}]}",
			[]string{"unreadable 4: Service default/a can't be read: spec.ports.targetPort: number 1.5 where Kubernetes wants a whole number"},
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

func TestThousandsOfSlipsAreToldUpToAPoint(t *testing.T) {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Service\nmetadata:\n  annotations:\n")
	for i := range 5000 {
		b.WriteString("    a" + itoa(i) + ": 1\n")
	}
	b.WriteString("spec:\n")
	for i := range 5000 {
		b.WriteString("  a" + itoa(i) + ": 1\n  twice: 2\n")
	}
	if n := len(judged(t, b.String()).Findings); n != 3*maxSlips {
		t.Errorf("%d slips are told, want %d of each sort", n, maxSlips)
	}
}
