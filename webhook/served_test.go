package webhook

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
)

// TestMuxesElsewhereCauseAWarning uses a release that serves muxes in two namespaces. A mux in another namespace, and a
// channel that names one, is allowed with a warning that names the setting.
func TestMuxesElsewhereCauseAWarning(t *testing.T) {
	mux := func(namespace string) *corev1.Service {
		svc := testMux(t, nil)
		svc.Namespace = namespace
		return svc
	}
	of := func(class string) *corev1.Service {
		return channel(func(svc *corev1.Service) { svc.Spec.LoadBalancerClass = &class })
	}
	const prefix = "svc-mux.nowake.ai/"
	for name, tc := range map[string]struct {
		svc  *corev1.Service
		want []string
	}{
		"a mux": {mux("svc-mux"), nil},
		"a mux elsewhere": {mux("away"),
			[]string{"nothing will happen to this mux", "namespace away", "rbac.muxNamespaces", "edge, svc-mux"}},
		"a channel of the default mux": {of(prefix + "mux"), nil},
		"a channel of a mux":           {of(prefix + "mux.edge"), nil},
		"a channel of a mux elsewhere": {of(prefix + "mux.away"),
			[]string{"no port of the mux away/mux", "namespace away", "rbac.muxNamespaces", "edge, svc-mux"}},
		"a Service that is neither":       {of("example.com/class"), nil},
		"a channel with an invalid class": {of(prefix + "a.b.c"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(t, zapcore.InfoLevel)
			d.Handler = newHandler(testLanguage(t), nil, served{"edge", "svc-mux"}, newLog(zapcore.InfoLevel, d.logs),
				prometheus.NewRegistry())
			got := d.ask(t, request(t, nil, tc.svc))
			var found []string
			for _, text := range got.Warnings {
				if strings.Contains(text, "rbac.muxNamespaces") {
					found = append(found, text)
				}
			}
			if len(found) != min(len(tc.want), 1) {
				t.Fatalf("the warnings are %q", got.Warnings)
			}
			for _, part := range tc.want {
				if !strings.Contains(found[0], part) {
					t.Errorf("the warning lacks %q: %s", part, found[0])
				}
			}
			if tc.want != nil && (!got.Allowed || strings.HasSuffix(found[0], "…")) {
				t.Errorf("allowed %v, with the warning %s", got.Allowed, found[0])
			}
			if all := Review(testLanguage(t), request(t, nil, tc.svc)).Response.Warnings; len(got.Warnings) != len(all)+
				len(found) {
				t.Errorf("without a list of namespaces the warnings are %q", all)
			}
		})
	}
}
