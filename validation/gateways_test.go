package validation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
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
			if mux, _ := lang.ParseMux(svc); mux.Pool != c.pool || (mux.Provider.Key == "gateway") != c.is ||
				mux.ProviderNamed != c.is {
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
	if len(found.Problems) > 0 || mux.Cap.Ports != 60000 || mux.Protocols.OneOnly ||
		mux.Protocols.Allowed != TCP|UDP|SCTP {
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
		"nothing":       {want: "[] 1"},
		"both families": {address: "2001:db8::1, 192.0.2.1", gateways: "2", want: "[192.0.2.1 2001:db8::1] 2"},
		"a name":        {address: "example", want: "[] 1", says: `address: "example" is not an address`},
		"two addresses of a family": {address: "192.0.2.1,192.0.2.2", want: "[] 1",
			says: `"192.0.2.2" is the second IPv4 address`},
		"an address with a zone":     {address: "fe80::1%eth0", want: "[] 1", says: "is not an address"},
		"an address written as IPv6": {address: "::ffff:192.0.2.1", want: "[] 1", says: "is not an address"},
		"no gateway": {gateways: "0", want: "[] 1",
			says: `gateways: "0" is not a number of gateways: write 1 to 254`},
		"an empty request": {address: " ", want: "[] 1", says: "address: "},
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
	if len(parsed.Wanted) > 0 || len(found.Problems) != 1 ||
		!strings.Contains(found.Problems[0].Message, "add IPv6 to spec.ipFamilies") {
		t.Errorf("%v, %+v", parsed.Wanted, found.Problems)
	}
}

func TestMistakesInSettingsOfGatewaysDontFreezeTheMux(t *testing.T) {
	lang := language(t)
	svc := bareMux(lang, map[string]string{lang.Keys().Address: "public", lang.Keys().Gateways: "0"})
	class := lang.FormatGatewayClass("rack")
	svc.Spec.LoadBalancerClass = &class
	mux, found := lang.ParseMux(svc)
	if len(found.Problems)+len(found.Excesses) > 0 || mux.Pool != "rack" {
		t.Errorf("no port depends on these settings, but the mux has problems: %+v", found)
	}
	_, asControllerSees := lang.ParseGateways(svc)
	if diff := cmp.Diff(asControllerSees.Problems, lang.Review(nil, svc).Denied); diff != "" ||
		len(asControllerSees.Problems) != 2 {
		t.Errorf("admission and the gateways' controller find different problems (-controller +admission):\n%s", diff)
	}
}

func TestSettingsOfGatewaysOnAMuxThatIsAChannelGetNoWarning(t *testing.T) {
	lang := language(t)
	svc := bareMux(lang, map[string]string{lang.Keys().Address: "192.0.2.1"})
	class := lang.Prefix() + "/edge"
	svc.Spec.LoadBalancerClass = &class
	for _, warning := range lang.Review(nil, svc).Warnings {
		if warning.Reason == MisplacedAnnotation {
			t.Errorf("it is refused as a whole, but it gets a warning: %s", warning.Message)
		}
	}
}

// FuzzAddresses checks that a request without problems has at most one address of each family, and survives being
// written and read.
func FuzzAddresses(f *testing.F) {
	golden.Seeds(f)
	for _, seed := range []string{"192.0.2.1,2001:db8::1", " 192.0.2.1 ,", "::ffff:192.0.2.1", "fe80::1%eth0",
		"192.0.2.1,192.0.2.2", "::1.2.3.4", "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		n, found := noteOf(value)
		wanted := parseWanted(n, nil)
		if len(found.Problems) > 0 {
			return
		}
		if len(wanted) > 2 || len(wanted) == 2 && wanted[0].Is4() == wanted[1].Is4() {
			t.Fatalf("%q has no problem, and asks for %v", value, wanted)
		}
		var written []string
		for _, a := range wanted {
			if a.Zone() != "" || a.Is4In6() {
				t.Fatalf("%q asks for %v, which no mux can have", value, a)
			}
			written = append(written, a.String())
		}
		again, more := noteOf(strings.Join(written, ","))
		if reread := parseWanted(again, nil); !slices.Equal(reread, wanted) || len(more.Problems) > 0 {
			t.Fatalf("%q is read as %v, and then as %v with %+v", value, wanted, reread, more.Problems)
		}
	})
}
