package dataplane

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/dataplane/packets"
)

// testKinds has a channel for each kind of a Service's ports.
func testKinds(t *testing.T, w *world) {
	w.mux(t, "kinds", annotation("port-range", "20000-20099,30303"))
	w.Apply(t, app("tcp", 1)+app("udp", 1)+app("both", 1)+twoServers+version("old-version", 8080)+version("new-version",
		9090))
	w.Apply(t, channel("dns-tcp", "kinds", "tcp", "dns:53", "{name: dns, port: 53, targetPort: 8080, protocol: TCP}")+
		channel("dns-udp", "kinds", "udp", "dns:53", "{name: dns, port: 53, targetPort: 8080, protocol: UDP}")+
		channel("paired", "kinds", "both", "p2p-tcp:auto,p2p-udp:auto",
			"{name: p2p-tcp, port: 30303, targetPort: 8080, protocol: TCP}",
			"{name: p2p-udp, port: 30303, targetPort: 8080, protocol: UDP}")+
		channel("two-servers", "kinds", "two-servers", "a:auto,b:auto", "{name: a, port: 80, targetPort: 8081}",
			"{name: b, port: 81, targetPort: 8082}")+
		channel("two-versions", "kinds", "two-versions", "http:auto", "{name: http, port: 80, targetPort: web}")+
		channel("sctp", "kinds", "tcp", "s:auto", "{name: s, port: 9, targetPort: 9, protocol: SCTP}"))
	for _, family := range w.service(t, edge, "kinds").Spec.IPFamilies {
		w.Apply(t, strings.Replace(channel("only-"+strings.ToLower(string(family)), "kinds", "both", "http:auto", onePort),
			"ipFamilyPolicy: PreferDualStack", fmt.Sprintf("ipFamilies: [%s]", family), 1))
	}
	w.rolledOut(t, "tcp", "udp", "both", "two-servers", "old-version", "new-version")

	for name, run := range map[string]func(*testing.T){
		"53/TCP and 53/UDP are two channels": func(t *testing.T) {
			for _, name := range []string{"dns-tcp", "dns-udp"} {
				if ports := w.ports(t, shop, name); ports["dns"] != 53 {
					t.Errorf("%s has %v", name, ports)
				}
			}
			w.onEach(t, "dns-tcp", "dns", packets.HTTP, ofApp("tcp"))
			w.onEach(t, "dns-udp", "dns", packets.UDP, ofApp("udp"))
		},
		"TCP and UDP under one number": func(t *testing.T) {
			ports := w.ports(t, shop, "paired")
			if ports["p2p-tcp"] != ports["p2p-udp"] {
				t.Errorf("TCP and UDP have different numbers: %v", ports)
			}
			w.onEach(t, "paired", "p2p-tcp", packets.HTTP, ofApp("both"))
			w.onEach(t, "paired", "p2p-udp", packets.UDP, ofApp("both"))
		},
		"several ports of one pod": func(t *testing.T) {
			w.onEach(t, "two-servers", "a", packets.HTTP, ofApp("server-a"))
			w.onEach(t, "two-servers", "b", packets.HTTP, ofApp("server-b"))
		},
		"a named target port that differs between pods":         func(t *testing.T) { w.bothVersionsAnswer(t) },
		"a channel of one family answers only over that family": func(t *testing.T) { w.oneFamily(t) },
		"SCTP is programmed": func(t *testing.T) { w.sctp(t) },
	} {
		t.Run(name, run)
	}
}

// onEach sends requests to a channel's port from outside, at each address that the channel shows. There must be one
// address per family.
func (w *world) onEach(t *testing.T, name, port string, ask asking, right func(string) bool) {
	t.Helper()
	number := w.ports(t, shop, name)[port]
	addresses := w.addresses(t, shop, name)
	if want := len(w.service(t, shop, name).Spec.IPFamilies); len(addresses) != want {
		t.Errorf("%s shows %v, and has %d families", name, addresses, want)
	}
	for _, ip := range addresses {
		w.answers(t, w.Outside(), ask, at(ip, number), right)
	}
}

// twoServers is a pod with two containers, each with its own name and port.
const twoServers = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: two-servers, namespace: ` + shop + `}
spec:
  selector: {matchLabels: {app: two-servers}}
  template:
    metadata: {labels: {app: two-servers}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: a, image: "` + cluster.PodImage +
	`", args: [serve], env: [{name: PORT, value: "8081"}, {name: POD_NAME, value: server-a}]}
      - {name: b, image: "` + cluster.PodImage +
	`", args: [serve], env: [{name: PORT, value: "8082"}, {name: POD_NAME, value: server-b}]}`

// version returns an app's version. Its port "web" has another number in each version, behind the same channel.
func version(name string, port int) string {
	return fmt.Sprintf(`
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  selector: {matchLabels: {version: %[1]s}}
  template:
    metadata: {labels: {app: two-versions, version: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: serve
        image: %[3]s
        args: [serve]
        env: [{name: PORT, value: "%[4]d"}]
        ports: [{name: web, containerPort: %[4]d}]`, name, shop, cluster.PodImage, port)
}

func (w *world) bothVersionsAnswer(t *testing.T) {
	address := w.public(t, "two-versions", "http")
	old, new := ofApp("old-version"), ofApp("new-version")
	var answered []bool
	cluster.Eventually(t, "both versions answer", func(ctx context.Context) error {
		pod, err := packets.HTTP(ctx, w.Outside(), address)
		if err != nil {
			return err
		}
		if !old(pod) && !new(pod) {
			t.Fatalf("another pod answers: %q", pod)
		}
		answered = append(answered, old(pod))
		if !slices.Contains(answered, true) || !slices.Contains(answered, false) {
			return fmt.Errorf("all %d answers came from one version", len(answered))
		}
		return nil
	})
}

// oneFamily checks that a channel of one family doesn't answer at the mux's other address, although the mux has the
// port there.
func (w *world) oneFamily(t *testing.T) {
	addresses := w.addresses(t, edge, "kinds")
	if len(addresses) == 1 {
		t.Log("NOT COVERED: this kernel has no IPv6")
	}
	for _, own := range addresses {
		name := "only-ipv4"
		if isIPv6(own) {
			name = "only-ipv6"
		}
		number := w.ports(t, shop, name)["http"]
		w.answers(t, w.Outside(), packets.HTTP, at(own, number), ofApp("both"))
		for _, other := range addresses {
			if other == own {
				continue
			}
			if pod, err := packets.HTTP(t.Context(), w.Outside(), at(other, number)); err == nil {
				t.Errorf("%s: %q answers at %s", name, pod, other)
			}
		}
	}
}

// sctp checks SCTP only up to the kernel's rules.
func (w *world) sctp(t *testing.T) {
	if protocols, err := os.ReadFile("/proc/net/protocols"); err != nil || !strings.Contains(string(protocols), "SCTP") {
		t.Log("NOT COVERED: this kernel doesn't speak SCTP")
	} else {
		t.Log("NOT COVERED: no packet of SCTP is sent, though this kernel speaks it")
	}
	cluster.Eventually(t, "the channel is programmed", func(context.Context) error {
		svc := w.service(t, shop, "sctp")
		if !says(svc, "Programmed", metav1.ConditionTrue) {
			return fmt.Errorf("status: %v", svc.Status)
		}
		return nil
	})
	ports, err := publicOf(w.service(t, shop, "sctp"))
	if err != nil {
		t.Fatal(err)
	}
	if carried := w.service(t, edge, "kinds").Spec.Ports; !slices.ContainsFunc(carried, func(p corev1.ServicePort) bool {
		return p.Protocol == corev1.ProtocolSCTP && int(p.Port) == ports["s"]
	}) {
		t.Errorf("the mux has %v, want %d/SCTP", carried, ports["s"])
	}
	cluster.Eventually(t, "kube-proxy has a rule for the SCTP port", func(ctx context.Context) error {
		out, err := w.Run(ctx, cluster.Program{Args: []string{"/bin/sh", "-c",
			"nft list ruleset 2>/dev/null | grep -i sctp; iptables-save -t nat 2>/dev/null | grep sctp; true"}})
		if err == nil && !regexp.MustCompile(fmt.Sprintf(`\b%d\b`, ports["s"])).MatchString(out.Stdout) {
			err = fmt.Errorf("the rules for SCTP are %q", out.Stdout)
		}
		return err
	})
}
