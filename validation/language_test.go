package validation

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func language(t testing.TB) Language {
	t.Helper()
	lang, err := New(DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	return lang
}

func ptr[T any](v T) *T { return &v }

func TestNew(t *testing.T) {
	for name, c := range map[string]struct {
		prefix, namespace string
		ok                bool
	}{
		"the default prefix":      {DefaultPrefix, "svc-mux", true},
		"another prefix":          {"mux.example.com", "infra", true},
		"a prefix in capitals":    {"Mux.example.com", "infra", false},
		"a prefix with a slash":   {"mux.example.com/", "infra", false},
		"an empty prefix":         {"", "infra", false},
		"an empty namespace":      {DefaultPrefix, "", false},
		"a namespace with a dot":  {DefaultPrefix, "a.b", false},
		"a prefix of 254 letters": {strings.Repeat("a", 254), "infra", false},
	} {
		t.Run(name, func(t *testing.T) {
			lang, err := New(c.prefix, c.namespace)
			if (err == nil) != c.ok {
				t.Fatalf("got error %v", err)
			}
			if c.ok && (lang.Prefix() != c.prefix || lang.DefaultMuxNamespace() != c.namespace) {
				t.Errorf("got %s and %s", lang.Prefix(), lang.DefaultMuxNamespace())
			}
		})
	}
}

func TestAllKeysAreUnderThePrefix(t *testing.T) {
	lang, err := New("mux.example.com", "infra")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, key := range keyList(lang.Keys()) {
		if !strings.HasPrefix(key, "mux.example.com/") || seen[key] {
			t.Errorf("key %q isn't unique, or has another prefix", key)
		}
		seen[key] = true
	}
	for _, name := range settable() {
		if lang.names[name].at == 0 || !seen["mux.example.com/"+name] {
			t.Errorf("%s is suggested to users, but unknown", name)
		}
	}
}

func keyList(k Keys) []string {
	return []string{
		k.Multiplexer, k.PortRange, k.ExplicitRange, k.MaxPorts, k.MaxPortsPerNamespace, k.AllowedNamespaces,
		k.AllowedHostnames, k.AllowedProtocols, k.AllocationConfigMap, k.ReleaseGrace, k.Placeholder, k.Provider, k.Disabled,
		k.ExternalPorts, k.ChannelHostname, k.Ports, k.Generation, k.Ledger, k.Channels, k.Topology, k.Summary,
		k.AggregatedExternalDNS, k.Managed, k.Mux, k.Finalizer, k.Accepted, k.Programmed, k.BackendsReady,
		k.Address, k.Gateways, k.CarriedBy, k.Pool, k.GatewayFacts, k.GatewayReport, k.Addressed, k.Carried,
	}
}

func TestZeroLanguageKnowsOnlyStrangers(t *testing.T) {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"": "true", "/multiplexer": "true"}},
		Spec:       corev1.ServiceSpec{LoadBalancerClass: ptr("/mux")},
	}
	if kind := (Language{}).Classify(svc); kind != Stranger {
		t.Errorf("got a %s", kind)
	}
}

func TestClassify(t *testing.T) {
	lang := language(t)
	for name, c := range map[string]struct {
		multiplexer, class *string
		want               Kind
	}{
		"nothing of ours":                     {nil, nil, Stranger},
		"a class of others":                   {nil, ptr("metallb.io/x"), Stranger},
		"multiplexer true":                    {ptr("true"), nil, IsMux},
		"multiplexer true, a class of others": {ptr("true"), ptr("metallb.io/x"), IsMux},
		"multiplexer false":                   {ptr("false"), nil, Stranger},
		"multiplexer with an invalid value":   {ptr("Yes"), nil, IsMux},
		"our class":                           {nil, ptr("svc-mux.nowake.ai/mux"), IsChannel},
		"our class, malformed":                {nil, ptr("svc-mux.nowake.ai/A.B.C"), IsChannel},
		"the bare prefix":                     {nil, ptr("svc-mux.nowake.ai"), IsChannel},
		"the prefix and a slash":              {nil, ptr("svc-mux.nowake.ai/"), IsChannel},
		"a prefix that begins with ours":      {nil, ptr("svc-mux.nowake.ai.evil/x"), Stranger},
		"a prefix that ends with ours":        {nil, ptr("xsvc-mux.nowake.ai/x"), Stranger},
		"multiplexer true and our class":      {ptr("true"), ptr("svc-mux.nowake.ai/mux"), Both},
		"multiplexer false and our class":     {ptr("false"), ptr("svc-mux.nowake.ai/mux"), IsChannel},
		"multiplexer true and a bare prefix":  {ptr("true"), ptr("svc-mux.nowake.ai"), Both},
	} {
		t.Run(name, func(t *testing.T) {
			svc := &corev1.Service{Spec: corev1.ServiceSpec{LoadBalancerClass: c.class}}
			if c.multiplexer != nil {
				svc.Annotations = map[string]string{lang.Keys().Multiplexer: *c.multiplexer}
			}
			got := lang.Classify(svc)
			if got != c.want {
				t.Errorf("got a %s, want a %s", got, c.want)
			}
			if got.Mux() != (got == IsMux || got == Both) || got.Channel() != (got == IsChannel || got == Both) {
				t.Errorf("a %s says mux %v, channel %v", got, got.Mux(), got.Channel())
			}
		})
	}
}
