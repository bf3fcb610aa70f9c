package validation

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func bareMux(lang Language, annotations map[string]string) *corev1.Service {
	all := map[string]string{lang.Keys().Multiplexer: "true"}
	for key, value := range annotations {
		all[key] = value
	}
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "edge", Annotations: all},
		Spec: corev1.ServiceSpec{
			Type:  corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Name: "placeholder", Port: 101, NodePort: 30101}},
		},
	}
}

func TestParseMuxReadsEverything(t *testing.T) {
	lang := language(t)
	k := lang.Keys()
	svc := bareMux(lang, map[string]string{
		k.PortRange: "30000,20000-20002", k.ExplicitRange: "1-1023", k.MaxPorts: "80", k.MaxPortsPerNamespace: "10",
		k.AllowedNamespaces: "Same,team-*", k.AllowedHostnames: "*.{namespace}.example.com",
		k.AllowedProtocols: "tcp", k.AllocationConfigMap: "ledger", k.ReleaseGrace: "1h30m", k.Placeholder: "keep",
		k.Disabled: "true", k.Generation: "42", k.Ledger: "before", k.Channels: "c", k.Topology: "t", k.Summary: "s",
		FormerHostname: "a.example.com,Owner.example.com", FormerCloudflareProxied: "false",
		ExternalDNSHostname:     "a.example.com",
		k.AggregatedExternalDNS: "a.example.com,cloudflare-proxied=false",
	})
	svc.Spec.LoadBalancerClass = ptr("networking.gke.io/l4")
	got, found := lang.ParseMux(svc)
	if len(found.Problems)+len(found.Warnings) > 0 {
		t.Errorf("found %v", found)
	}
	want := Mux{
		Object: Object{Key: types.NamespacedName{Namespace: "infra", Name: "edge"}},
		Ports:  svc.Spec.Ports, Class: "networking.gke.io/l4", Provider: providers()[0].Provider, ProviderNamed: true,
		Disabled:        true,
		Auto:            PortRanges{written: []PortRange{{30000, 30000}, {20000, 20002}}},
		Explicit:        PortRanges{written: []PortRange{{1, 1023}}},
		Cap:             Cap{Ports: 80},
		CapPerNamespace: 10,
		Namespaces:      Namespaces{own: "infra", globs: []string{"team-*"}},
		Hostnames:       Hostnames{patterns: []string{"*.{namespace}.example.com"}},
		Protocols:       ProtocolPolicy{Allowed: TCP},
		ProtocolsStated: true,
		Ledger:          "ledger", Grace: 90 * time.Minute, Placeholder: PlaceholderKeep, Generation: 42,
		LedgerInForce: "before",
		DNS: MuxDNS{{Hostnames: []string{"a.example.com", "owner.example.com"}, Proxied: Off},
			{Hostnames: []string{"a.example.com"}}},
		OurDNS: MuxDNS{{Hostnames: []string{"a.example.com"}, Proxied: Off},
			{Hostnames: []string{"a.example.com"}, Proxied: Off}},
		Channels: "c", Topology: "t", Summary: "s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if order := slices.Collect(got.Auto.All()); !slices.Equal(order, []int32{30000, 20000, 20001, 20002}) {
		t.Errorf("auto ports have the order %v", order)
	}
}

func TestMuxDefaults(t *testing.T) {
	lang := language(t)
	got, found := lang.ParseMux(bareMux(lang, nil))
	if len(found.Problems)+len(found.Warnings) > 0 {
		t.Errorf("found %v", found)
	}
	switch {
	case got.Auto.Len() != 0, got.Explicit.Len() != MaxPort, got.Cap != (Cap{Ports: DefaultMaxPorts}),
		got.CapPerNamespace != 0, !got.Namespaces.Allows("anyone"), !got.Hostnames.In("x").Allows("any.example.com"),
		got.Protocols != (ProtocolPolicy{Allowed: TCP | UDP | SCTP}), got.Ledger != "edge-port-allocations",
		got.Grace != 0, got.Placeholder != PlaceholderUsual, got.Generation != 0, got.Disabled:
		t.Errorf("got %+v", got)
	}
}

func TestCap(t *testing.T) {
	lang := language(t)
	gke := map[string]string{"cloud.google.com/l4-rbs": "enabled"}
	nlb := map[string]string{"service.beta.kubernetes.io/aws-load-balancer-type": "external"}
	for name, c := range map[string]struct {
		annotations map[string]string
		stated      string
		want        Cap
	}{
		"by default":                     {nil, "", Cap{Ports: 5000}},
		"the owner's value":              {nil, "7000", Cap{Ports: 7000}},
		"GKE":                            {gke, "", Cap{100, GkePortLimitApplied}},
		"the owner's value above GKE's":  {gke, "101", Cap{100, GkePortLimitApplied}},
		"the owner's value equals GKE's": {gke, "100", Cap{Ports: 100}},
		"the owner's value below GKE's":  {gke, "1", Cap{Ports: 1}},
		"AWS":                            {nlb, "", Cap{50, ProviderPortLimitApplied}},
		"an invalid value of the owner":  {gke, "lots", Cap{100, GkePortLimitApplied}},
	} {
		t.Run(name, func(t *testing.T) {
			svc := bareMux(lang, c.annotations)
			if c.stated != "" {
				svc.Annotations[lang.Keys().MaxPorts] = c.stated
			}
			if got, _ := lang.ParseMux(svc); got.Cap != c.want {
				t.Errorf("got %v, want %v", got.Cap, c.want)
			}
		})
	}
}

func TestLedgerName(t *testing.T) {
	m := func(count int) string { return strings.Repeat("m", count) }
	for name, c := range map[string]struct{ mux, want string }{
		"a short name is kept":               {"mux", "mux-port-allocations"},
		"a name that just fits is kept":      {m(46), m(46) + "-port-allocations"},
		"a longer one is cut and hashed":     {m(47), m(37) + "-fcbd2d2b-port-allocations"},
		"dashes before the hash are removed": {m(36) + "--" + strings.Repeat("x", 20), ""},
		"the longest name is cut and hashed": {m(63), ""},
		"names that differ at their end":     {m(62) + "n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ledgerName(c.mux)
			if c.want != "" && got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if !IsLabel(got) || strings.Contains(got, "--") {
				t.Errorf("%s isn't a valid name", got)
			}
		})
	}
	if ledgerName(m(63)) == ledgerName(m(62)+"n") {
		t.Error("two muxes with long names share a ledger")
	}
}
