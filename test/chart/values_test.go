package chart

import (
	"strings"
	"testing"
)

func TestMistakesAreRefusedWithTheirPath(t *testing.T) {
	for name, tc := range map[string]struct {
		flag string
		want []string
	}{
		"a value at the top":       {"--set=replicas=2", []string{"additional properties 'replicas'"}},
		"a value further down":     {"--set=webhook.predictions.strct=true", []string{"'/webhook/predictions'", "'strct'"}},
		"an image's":               {"--set=images.webhook.version=1", []string{"'/images/webhook'", "'version'"}},
		"the mux's":                {"--set=defaultLoadBalancer.portrange=1", []string{"'/defaultLoadBalancer'", "'portrange'"}},
		"a mode that is none":      {"--set=certs.mode=certmanager", []string{"'/certs/mode'", "'selfManaged'"}},
		"a prefix in capitals":     {"--set=api.prefix=Mux.example.com", []string{"'/api/prefix'", "Mux.example.com"}},
		"a word for a number":      {"--set=webhook.replicas=two", []string{"'/webhook/replicas'", "want integer"}},
		"a word for a switch":      {"--set=webhook.predictions.enabled=no", []string{"'/webhook/predictions/enabled'", "want boolean"}},
		"the probes' port":         {"--set=webhook.port=8081", []string{"'/webhook/port'"}},
		"a namespace that is none": {"--set=rbac.muxNamespaces={a/b}", []string{"'/rbac/muxNamespaces/0'", "a/b"}},
		"a CA that isn't PEM":      {"--set=certs.provided.caBundle=MIIB", []string{"'/certs/provided/caBundle'"}},
		"a tag as the digest":      {"--set=images.webhook.digest=v1", []string{"'/images/webhook/digest'"}},
		"a part that is missing":   {"--set=certs=null", []string{"missing property 'certs'"}},
		"a log level":              {"--set=logLevel=loud", []string{"'/logLevel'", "'debug'"}},
	} {
		t.Run(name, func(t *testing.T) { says(t, refused(t, tc.flag), tc.want...) })
	}
}

func says(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, want := range want {
		if !strings.Contains(text, want) {
			t.Errorf("it doesn't say %q:\n%s", want, text)
		}
	}
}

// TestWhatCannotWorkStopsEarly is about values that are right each for itself.
func TestWhatCannotWorkStopsEarly(t *testing.T) {
	for name, tc := range map[string]struct {
		flags []string
		want  []string
	}{
		"no cert-manager": {[]string{"--api-versions=apiregistration.k8s.io/v1"},
			[]string{"no API cert-manager.io/v1", "certs.mode=selfManaged", "certs.mode=provided"}},
		"a certificate of nowhere": {[]string{"--set=certs.mode=provided"}, []string{"certs.provided.secretName"}},
		"a certificate of nobody's": {[]string{"--set=certs.mode=provided,certs.provided.secretName=ours"},
			[]string{"certs.provided.caBundle", "certs.provided.injectCAFromSecret"}},
		"a mux that could not be written": {[]string{"--set=rbac.muxNamespaces={edge}"},
			[]string{`"infra"`, "rbac.muxNamespaces", "defaultLoadBalancer.create=false"}},
		"a mux named like the reconciler's Service": {[]string{"--set=defaultLoadBalancer.name=svc-mux"},
			[]string{"defaultLoadBalancer.name", `"svc-mux"`}},
		"two prefixes": {[]string{"--set=env.API_PREFIX=a.io"}, []string{`"a.io"`, `"svc-mux.nowake.ai"`, "api.prefix=a.io"}},
		"strict about nothing": {[]string{"--set=webhook.predictions.strict=true,webhook.predictions.enabled=false"},
			[]string{"webhook.predictions.enabled=true"}},
	} {
		t.Run(name, func(t *testing.T) { says(t, refused(t, tc.flags...), tc.want...) })
	}
}

func TestACertManagerThatIsOrMayBeThere(t *testing.T) {
	render(t, "--api-versions=apiregistration.k8s.io/v1", "--api-versions=cert-manager.io/v1")
	render(t) // for GitOps: nobody knows the cluster yet
	render(t, "--api-versions=apiregistration.k8s.io/v1", "--set=certs.mode=selfManaged")
}
