package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// notes renders the notes that helm prints after an install, which `helm template` leaves out.
func notes(t *testing.T, flags ...string) string {
	t.Helper()
	chart := filepath.Join(t.TempDir(), "svc-lb-mux")
	if err := os.CopyFS(chart, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(chart, "templates", "NOTES.txt")
	text := string(read(t, path))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	text = `{{ define "notes" }}` + text +
		`{{ end }}{kind: ConfigMap, apiVersion: v1, data: {text: {{ include "notes" . | toJson }}}}`
	if err := os.WriteFile(filepath.Join(chart, "templates", "notes.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, ok := helm(t, append([]string{"template", release, chart, "--namespace=" + namespace,
		"--show-only=templates/notes.yaml"}, flags...)...)
	if !ok {
		t.Fatal(out)
	}
	return all[*corev1.ConfigMap](decode(t, out))[0].Data["text"]
}

func TestNotes(t *testing.T) {
	for name, tc := range map[string]struct {
		flag     string
		with     []string
		without  []string
		channels int
	}{
		"by default": {"--set=webhook.replicas=2", []string{
			"kubectl get service mux --namespace infra", "helm test svc-mux --namespace infra",
			"loadBalancerClass: svc-mux.nowake.ai/mux.infra", "the mux infra/mux", "EndpointSlices", "drain.onDelete=true",
			"lease infra/svc-mux", "the pod infra/svc-mux-test", "svc-mux-webhook-ca and svc-mux-webhook-tls",
			"--set defaultLoadBalancer.provider=aws", "http://localhost:8080",
			"kubectl port-forward deployment/svc-mux 8080 --namespace infra",
		}, []string{"not passed on", "replicaCount is"}, 1},
		"with the original's values": {originals, []string{
			"image, command, args, livenessProbe, readinessProbe, startupProbe, service", "not passed on: debugWeb.ingress",
			"mux infra/edge", "replicaCount is 1", "loadBalancerClass: mux.example.com/edge.infra",
		}, nil, 1},
		"without a mux": {"--set=defaultLoadBalancer.create=false", []string{
			"multiplexer: \"true\"", "kubectl get service edge", "loadBalancerClass: svc-mux.nowake.ai/edge.infra",
		}, []string{"the mux infra/", "helm test", "svc-mux-test", "l4-rbs"}, 2},
		"with a provider": {"--set=defaultLoadBalancer.provider=none", nil, []string{"GKE", "defaultLoadBalancer.provider"},
			1},
		"with a mux on gateways": {
			"--set=defaultLoadBalancer.loadBalancerClass=gateway.svc-mux.nowake.ai/rack,gateways.pools[0].name=rack," +
				"gateways.pools[0].addresses={192.0.2.0/28},gateways.pools[0].announce=none", nil, []string{"GKE", "100 ports"}, 1},
		"with self-managed certificates": {"--set=certs.mode=selfManaged", nil, []string{"cert-manager"}, 1},
		"with the user's issuer": {"--set=certs.certManager.issuerRef.name=ours", []string{"the Secret svc-mux-webhook-tls"},
			[]string{"-ca"}, 1},
		"drained": {"--set=drain.onDelete=true", []string{"are taken away (drain.onDelete)"}, []string{"drain.onDelete=true"},
			1},
	} {
		t.Run(name, func(t *testing.T) {
			text := notes(t, tc.flag)
			says(t, text, tc.with...)
			for _, word := range tc.without {
				if strings.Contains(text, word) {
					t.Errorf("unexpected %q in the notes:\n%s", word, text)
				}
			}
			if got := len(manifestsIn(t, text)); got != tc.channels {
				t.Errorf("%d manifests to apply, want %d", got, tc.channels)
			}
		})
	}
}

// manifestsIn returns the Services that the notes suggest to apply.
func manifestsIn(t *testing.T, text string) []*corev1.Service {
	t.Helper()
	var services []*corev1.Service
	for i, part := range strings.Split(text, "<<EOF\n") {
		if i == 0 {
			continue
		}
		manifest, _, found := strings.Cut(part, "\nEOF\n")
		if !found {
			t.Errorf("a manifest doesn't end:\n%s", part)
		}
		services = append(services, all[*corev1.Service](decode(t, manifest))...)
	}
	return services
}
