package validation

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestDetectProvider(t *testing.T) {
	gke := map[string]string{"cloud.google.com/l4-rbs": "enabled"}
	aws := func(kind string) map[string]string {
		return map[string]string{"service.beta.kubernetes.io/aws-load-balancer-type": kind}
	}
	both := func(kind string) map[string]string {
		return map[string]string{
			"service.beta.kubernetes.io/aws-load-balancer-type": kind, "cloud.google.com/l4-rbs": "enabled",
		}
	}
	for name, c := range map[string]struct {
		class       string
		annotations map[string]string
		want        string
	}{
		"AWS's annotation beside the chart's default": {"", both("external"), "AWS NLB"},
		"AWS's classic beside the chart's default":    {"", both("classic"), "GKE"},
		"GKE's class beside AWS's annotation":         {"networking.gke.io/l4", aws("nlb"), "GKE"},
		"AWS's annotation beside one chosen for GKE": {"", map[string]string{
			"service.beta.kubernetes.io/aws-load-balancer-type": "nlb", "networking.gke.io/load-balancer-type": "Internal",
		}, "GKE"},
		"no sign of a provider":                {"", nil, ""},
		"a class of GKE's":                     {"networking.gke.io/l4-regional-internal", nil, "GKE"},
		"a class that only begins like GKE's":  {"networking.gke.io", nil, ""},
		"an annotation of GKE's":               {"", gke, "GKE"},
		"GKE's annotation with another class":  {"example.com/lb", gke, "GKE"},
		"AWS's class beside GKE's annotation":  {"service.k8s.aws/nlb", gke, "AWS NLB"},
		"AWS's class":                          {"eks.amazonaws.com/nlb", nil, "AWS NLB"},
		"AWS's class with a suffix":            {"service.k8s.aws/nlb2", nil, ""},
		"AWS's annotation":                     {"", aws("nlb-ip"), "AWS NLB"},
		"AWS's annotation of another kind":     {"", aws("classic"), ""},
		"an annotation of an unknown provider": {"", map[string]string{"example.com/lb": "x"}, ""},
		"a key that only begins like GKE's":    {"", map[string]string{"cloud.google.community/x": "x"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, told := detectProvider(c.class, "", c.annotations)
			if got.Name != c.want {
				t.Errorf("got %q, want %q", got.Name, c.want)
			}
			if _, isDefault := c.annotations["cloud.google.com/l4-rbs"]; told != (c.want != "" &&
				(!isDefault || c.want != "GKE")) {
				t.Errorf("the owner named it: %t", told)
			}
		})
	}
}

func TestProviderAnnotationOverrulesOtherAnnotations(t *testing.T) {
	gke := map[string]string{"cloud.google.com/l4-rbs": "enabled", "networking.gke.io/load-balancer-type": "Internal"}
	for name, c := range map[string]struct{ class, named, want string }{
		"aws":                      {"", "aws", "AWS NLB"},
		"azure":                    {"", "azure", "Azure"},
		"gke":                      {"", "gke", "GKE"},
		"none":                     {"", "none", ""},
		"none, with a class":       {"service.k8s.aws/nlb", "none", "AWS NLB"},
		"none, with another class": {"example.com/lb", "none", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got, told := detectProvider(c.class, c.named, gke); got.Name != c.want || !told {
				t.Errorf("got %q (%t), want %q", got.Name, told, c.want)
			}
		})
	}
}

func TestProtocolsOfAProvider(t *testing.T) {
	lang := language(t)
	svc := bareMux(lang, map[string]string{"cloud.google.com/l4-rbs": "enabled"})
	mux, _ := lang.ParseMux(svc)
	if want := (ProtocolPolicy{Allowed: TCP | UDP, OneOnly: true}); mux.Protocols != want {
		t.Errorf("GKE: got %v, want %v", mux.Protocols, want)
	}
	svc.Annotations[lang.Keys().AllowedProtocols] = "TCP,UDP"
	mux, _ = lang.ParseMux(svc)
	if want := (ProtocolPolicy{Allowed: TCP | UDP}); mux.Protocols != want {
		t.Errorf("GKE with the owner's protocols: got %v, want %v", mux.Protocols, want)
	}
	if mux.Protocols.Allowed.Has(corev1.ProtocolSCTP) || !mux.Protocols.Allowed.Has(corev1.ProtocolUDP) {
		t.Errorf("%s has SCTP, or lacks UDP", mux.Protocols.Allowed)
	}
}
