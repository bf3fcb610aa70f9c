package corpus

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/validation"
)

// document is a case as it is written in a file.
type document struct {
	About     string          `json:"about"`
	Like      string          `json:"like"`
	Service   map[string]any  `json:"service"`
	Old       map[string]any  `json:"old"`
	Deny      []string        `json:"deny"`
	Tolerated []string        `json:"tolerated"`
	Warn      []string        `json:"warn"`
	APIServer string          `json:"apiserver"`
	Fill      map[string]Fill `json:"fill"`
	Ports     *span           `json:"ports"`
}

// Fill makes a long value: a text repeated Times times, or, with From and To, the text once for each number, which
// replaces %d.
type Fill struct {
	Text  string `json:"text"`
	Times int    `json:"times"`
	From  int    `json:"from"`
	To    int    `json:"to"`
	Step  int    `json:"step"`
}

type span struct {
	From int32 `json:"from"`
	To   int32 `json:"to"`
}

// bases are the good Services that cases patch.
var bases = map[string]string{
	"channel": `
spec:
  type: LoadBalancer
  loadBalancerClass: svc-mux.nowake.ai/mux
  allocateLoadBalancerNodePorts: false
  selector: {app: web}
  ports: [{name: http, port: 80}]
`,
	"mux": `
metadata: {annotations: {svc-mux.nowake.ai/multiplexer: "true"}}
spec:
  type: LoadBalancer
  ports: [{name: placeholder, port: 101}]
`,
	"stranger": `
spec:
  selector: {app: web}
  ports: [{port: 80}]
`,
}

func parse(text, file, name string) (Case, error) {
	var doc document
	if err := yaml.UnmarshalStrict([]byte(text), &doc); err != nil {
		return Case{}, fmt.Errorf("reading %q: %w", doc.About, err)
	}
	if doc.About == "" || doc.APIServer != "" && doc.APIServer != "refuses" {
		return Case{}, fmt.Errorf("about %q, apiserver %q: want a sentence, and nothing or refuses", doc.About, doc.APIServer)
	}
	c := Case{File: file, About: doc.About, Impossible: doc.APIServer != ""}
	var err error
	if c.Service, err = doc.service(doc.Service, name); err != nil {
		return Case{}, fmt.Errorf("%q: %w", doc.About, err)
	}
	if doc.Old != nil {
		if c.Old, err = doc.service(doc.Old, c.Service.Name); err != nil {
			return Case{}, fmt.Errorf("%q, the old one: %w", doc.About, err)
		}
	}
	c.Deny, c.Tolerated, c.Warn = expects(doc.Deny), expects(doc.Tolerated), expects(doc.Warn)
	return c, nil
}

func (d document) service(patch map[string]any, name string) (*corev1.Service, error) {
	base, known := bases[d.Like]
	if !known {
		return nil, fmt.Errorf("like %q: there is no such base Service", d.Like)
	}
	var object map[string]any
	if err := yaml.Unmarshal([]byte(base), &object); err != nil {
		return nil, fmt.Errorf("reading the %s: %w", d.Like, err)
	}
	data, err := json.Marshal(merge(object, patch))
	if err != nil {
		return nil, fmt.Errorf("merging: %w", err)
	}
	svc := &corev1.Service{}
	if err := yaml.UnmarshalStrict(data, svc); err != nil {
		return nil, fmt.Errorf("reading the Service: %w", err)
	}
	svc.APIVersion, svc.Kind = "v1", "Service"
	if svc.Name == "" {
		svc.Name = name
	}
	if svc.Namespace == "" {
		svc.Namespace = Namespace
	}
	d.fill(svc)
	return svc, nil
}

// merge applies a JSON merge patch: null removes a field, lists are replaced.
func merge(object, patch map[string]any) map[string]any {
	if object == nil {
		object = map[string]any{}
	}
	for key, value := range patch {
		child, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(object, key)
		case isObject:
			below, _ := object[key].(map[string]any)
			object[key] = merge(below, child)
		default:
			object[key] = value
		}
	}
	return object
}

func (d document) fill(svc *corev1.Service) {
	for key, value := range svc.Annotations {
		for _, name := range slices.Sorted(maps.Keys(d.Fill)) {
			value = strings.ReplaceAll(value, "${"+name+"}", d.Fill[name].String())
		}
		svc.Annotations[key] = value
	}
	if d.Ports == nil {
		return
	}
	svc.Spec.Ports = nil
	for n := d.Ports.From; n <= d.Ports.To; n++ {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "p" + strconv.Itoa(int(n)), Port: n})
	}
}

func (f Fill) String() string {
	if f.To == 0 {
		return strings.Repeat(f.Text, f.Times)
	}
	var b strings.Builder
	for n := f.From; n <= f.To; n += max(f.Step, 1) {
		b.WriteString(strings.ReplaceAll(f.Text, "%d", strconv.Itoa(n)))
	}
	return b.String()
}

// expects parses "Reason @ field", or "Reason @ field x3" for three of them. A field that isn't a path is an annotation
// of ours.
func expects(lines []string) []Expect {
	var all []Expect
	for _, line := range lines {
		line, times, _ := strings.Cut(line, " x")
		reason, field, _ := strings.Cut(line, " @ ")
		if !strings.HasPrefix(field, "metadata.") && !strings.HasPrefix(field, "spec.") {
			field = "metadata.annotations[" + validation.DefaultPrefix + "/" + field + "]"
		}
		count, err := strconv.Atoi(times)
		if err != nil {
			count = 1
		}
		all = append(all, slices.Repeat([]Expect{{validation.Reason(reason), field}}, count)...)
	}
	slices.SortFunc(all, Expect.Compare)
	return all
}
