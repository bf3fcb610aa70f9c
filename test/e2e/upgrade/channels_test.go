package upgrade

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/test/product"
	"nowake.ai/svc-lb-mux/validation"
)

// channel is a Service that has its numbers before the first upgrade, and must keep them.
type channel struct {
	namespace, name string
	muxNamespace    string
	mux             string
	address         string
	note            string // the annotation with its numbers, such as "http:80->20000"
	ports           []port
}

// port is one of a channel's ports with its public number.
type port struct {
	number   int
	protocol corev1.Protocol
}

func (c *channel) id() string    { return c.namespace + "/" + c.name }
func (c *channel) muxID() string { return c.muxNamespace + "/" + c.mux }

const (
	onePort  = "{name: http, port: 80, targetPort: 8080}"
	bothPort = "{name: tcp, port: 80, targetPort: 8080}, {name: udp, port: 80, targetPort: 8080, protocol: UDP}"
	// gkePorts is how many ports GKE's load balancers have.
	gkePorts = 100
	// allowedName is the only DNS name that the mux edge/open may publish. strangeName belongs to another team.
	allowedName = "app.team-0.example.com"
	strangeName = "app.team-1.example.com"
)

// isOpen tells whether channel i is on the mux edge/open, with a TCP and a UDP port. The others are on the chart's mux.
func isOpen(i int) bool { return i%3 == 0 }

// muxes makes one mux for each kind of limit, beside the chart's own mux, to which an annotation in the chart's values
// gives GKE's limit: edge/open is full at its own max-ports and allows only the teams; edge/gke has one protocol;
// edge/mixed has annotations of two providers; edge/capped has a cap for each namespace; edge/long has longer lists
// than a new mux may have.
func (w *world) muxes(t *testing.T, channels int) {
	t.Helper()
	maxPorts := 1 // the placeholder
	for i := range channels {
		if isOpen(i) {
			maxPorts += 2
		}
	}
	for name, annotations := range map[string]string{
		"open": fmt.Sprintf(`%s/port-range: 30000-30999, %[1]s/max-ports: "%d", %[1]s/allowed-namespaces: "team-*",
			%[1]s/allowed-hostnames: "*.{namespace}.example.com"`, prefix, maxPorts),
		"gke": prefix + `/port-range: 31000-31099, cloud.google.com/l4-rbs: enabled`,
		"mixed": prefix + `/port-range: 32000-32099, cloud.google.com/l4-rbs: enabled,
			service.beta.kubernetes.io/aws-load-balancer-type: external`,
		"capped": prefix + `/port-range: 33000-33099, ` + prefix + `/max-ports-per-namespace: "1"`,
		"long": fmt.Sprintf(`%s/port-range: 34000-34099, %[1]s/allowed-namespaces: "%s", %[1]s/allowed-hostnames: "%s"`,
			prefix,
			list("team-%d", longList), list("n%d-*.example.com", longList)),
	} {
		w.Apply(t, fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: %s,
			annotations: {%s/multiplexer: "true", %s}},
			spec: {type: LoadBalancer, ports: [{name: placeholder, port: 101}]}}`, name, edge, prefix, annotations))
	}
}

// longList is more entries than a list of a new mux may have.
const longList = validation.MaxEntries + 44

func list(format string, entries int) string {
	texts := make([]string, entries)
	for i := range texts {
		texts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(texts, ",")
}

// service renders a channel. More are annotations beside external-ports, as in YAML.
func service(namespace, name, class, external, ports string, more ...string) string {
	annotations := append([]string{fmt.Sprintf("%s/external-ports: %q", prefix, external)}, more...)
	return fmt.Sprintf(`
---
{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: %s, annotations: {%s}},
 spec: {type: LoadBalancer, loadBalancerClass: %s/%s, allocateLoadBalancerNodePorts: false, selector: {app: web},
   ports: [%s]}}`,
		name, namespace, strings.Join(annotations, ", "), prefix, class, ports)
}

// render returns channel i: on edge/open or on the chart's mux, with `auto` numbers or with its own.
func render(i int) (*channel, string) {
	c := &channel{namespace: team(i), name: fmt.Sprintf("app-%d", i), muxNamespace: product.Namespace, mux: "mux"}
	if !isOpen(i) {
		external := map[bool]string{true: "http:auto", false: fmt.Sprintf("http:%d", 8000+i)}[i%3 == 1]
		return c, service(c.namespace, c.name, "mux", external, onePort)
	}
	c.muxNamespace, c.mux = edge, "open"
	external := map[bool]string{true: "tcp:auto,udp:auto", false: fmt.Sprintf("tcp:%d,udp:%[1]d", 9000+i)}[i%2 == 0]
	var more []string
	switch i {
	case 0: // asks for a name that its namespace may have, and for one that it may not have
		more = append(more, fmt.Sprintf("%s/external-dns-hostname: %q", prefix, allowedName+","+strangeName))
	case 3: // a name that external-dns reads from the channel itself
		more = append(more, "external-dns.alpha.kubernetes.io/hostname: www.bank.example.com")
	}
	return c, service(c.namespace, c.name, "open.edge", external, bothPort, more...)
}

// channels makes n channels on edge/open and on the chart's mux, and one on each of the other muxes.
func (w *world) channels(t *testing.T, n int) (all []*channel) {
	t.Helper()
	var manifests strings.Builder
	for i := range n {
		c, manifest := render(i)
		all = append(all, c)
		manifests.WriteString(manifest)
	}
	for i, mux := range []string{"gke", "mixed", "capped", "long"} {
		c := &channel{namespace: team(i), name: "on-" + mux, muxNamespace: edge, mux: mux}
		all = append(all, c)
		manifests.WriteString(service(c.namespace, c.name, mux+"."+edge, "http:auto", onePort))
	}
	w.Apply(t, manifests.String())
	for _, c := range all {
		w.learn(t, c)
	}
	return all
}

// fill takes what is left of the chart's mux, up to GKE's limit, with one channel of many ports.
func (w *world) fill(t *testing.T, all *[]*channel) {
	t.Helper()
	mux, err := w.service(t.Context(), product.Namespace, "mux")
	if err != nil {
		t.Fatal(err)
	}
	var external, ports []string
	for i := range gkePorts - len(mux.Spec.Ports) {
		external = append(external, fmt.Sprintf("p%d:auto", i))
		ports = append(ports, fmt.Sprintf("{name: p%d, port: %d, targetPort: 8080}", i, 1000+i))
	}
	if len(external) == 0 {
		t.Fatalf("%d channels leave no room on the chart's mux: ask for fewer", len(*all))
	}
	filler := &channel{namespace: team(0), name: "filler", muxNamespace: product.Namespace, mux: "mux"}
	w.Apply(t, service(filler.namespace, filler.name, "mux", strings.Join(external, ","), strings.Join(ports, ", ")))
	w.learn(t, filler)
	*all = append(*all, filler)
}
