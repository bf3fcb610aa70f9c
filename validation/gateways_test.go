package validation

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestGatewayPool(t *testing.T) {
	lang := language(t)
	for name, c := range map[string]struct {
		class, pool string
		is          bool
	}{
		"a pool":                {"gateway.svc-mux.nowake.ai/public", "public", true},
		"a pool that is none":   {"gateway.svc-mux.nowake.ai/A", "", true},
		"no pool":               {"gateway.svc-mux.nowake.ai/", "", true},
		"a channel's class":     {"svc-mux.nowake.ai/public", "", false},
		"the bare prefix":       {"gateway.svc-mux.nowake.ai", "", false},
		"the prefix of another": {"gateway.example.com/public", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if pool, is := lang.GatewayPool(c.class); pool != c.pool || is != c.is {
				t.Errorf("got %q, %t", pool, is)
			}
			svc := bareMux(lang, nil)
			svc.Spec.LoadBalancerClass = &c.class
			if mux, _ := lang.ParseMux(svc); mux.Pool != c.pool || (mux.Provider.Key == "gateway") != c.is || mux.ProviderNamed != c.is {
				t.Errorf("the mux has pool %q and provider %+v", mux.Pool, mux.Provider)
			}
		})
	}
	if lang.FormatGatewayClass("public") != "gateway.svc-mux.nowake.ai/public" {
		t.Error(lang.FormatGatewayClass("public"))
	}
}

func TestMuxOnGatewaysHasNoLimits(t *testing.T) {
	lang := language(t)
	svc := bareMux(lang, map[string]string{"cloud.google.com/l4-rbs": "enabled", lang.Keys().MaxPorts: "60000"})
	class := lang.FormatGatewayClass("public")
	svc.Spec.LoadBalancerClass = &class
	mux, found := lang.ParseMux(svc)
	if len(found.Problems) > 0 || mux.Cap.Ports != 60000 || mux.Protocols.OneOnly || mux.Protocols.Allowed != TCP|UDP|SCTP {
		t.Errorf("%+v, %+v, %+v", mux.Cap, mux.Protocols, found)
	}
	if _, known := ProviderCalled("gateway"); known {
		t.Error("a ledger that names gateways would bring them back for a mux of another class")
	}
}

func TestSettingsOfAMuxOnGateways(t *testing.T) {
	lang := language(t)
	for name, c := range map[string]struct {
		address, gateways string
		want              string
		says              string
	}{
		"nothing":                    {want: "[] 1"},
		"both families":              {address: "2001:db8::1, 192.0.2.1", gateways: "2", want: "[192.0.2.1 2001:db8::1] 2"},
		"a name":                     {address: "example", want: "[] 1", says: `address: "example" is not an address`},
		"two addresses of a family":  {address: "192.0.2.1,192.0.2.2", want: "[] 1", says: `"192.0.2.2" is the second IPv4 address`},
		"an address with a zone":     {address: "fe80::1%eth0", want: "[] 1", says: "is not an address"},
		"an address written as IPv6": {address: "::ffff:192.0.2.1", want: "[] 1", says: "is not an address"},
		"no gateway":                 {gateways: "0", want: "[] 1", says: `gateways: "0" is not a number of gateways: write 1 to 254`},
		"an empty request":           {address: " ", want: "[] 1", says: "address: "},
	} {
		t.Run(name, func(t *testing.T) {
			svc := bareMux(lang, map[string]string{})
			class := lang.FormatGatewayClass("public")
			svc.Spec.LoadBalancerClass, svc.Spec.IPFamilies = &class, []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
			if c.address != "" {
				svc.Annotations[lang.Keys().Address] = c.address
			}
			if c.gateways != "" {
				svc.Annotations[lang.Keys().Gateways] = c.gateways
			}
			parsed, found := lang.ParseGateways(svc)
			if c.says != "" && (len(found.Problems) != 1 || !strings.Contains(found.Problems[0].Message, c.says)) {
				t.Errorf("problems: %+v", found.Problems)
			}
			if got := fmt.Sprint(parsed.Wanted, parsed.MinGateways); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestAddressOfAFamilyThatTheMuxLacksIsRefused(t *testing.T) {
	lang := language(t)
	svc := bareMux(lang, map[string]string{lang.Keys().Address: "2001:db8::1"})
	class := lang.FormatGatewayClass("public")
	svc.Spec.LoadBalancerClass, svc.Spec.IPFamilies = &class, []corev1.IPFamily{corev1.IPv4Protocol}
	parsed, found := lang.ParseGateways(svc)
	if len(parsed.Wanted) > 0 || len(found.Problems) != 1 || !strings.Contains(found.Problems[0].Message, "add IPv6 to spec.ipFamilies") {
		t.Errorf("%v, %+v", parsed.Wanted, found.Problems)
	}
}
