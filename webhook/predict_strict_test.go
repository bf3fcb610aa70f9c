package webhook

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestStrictDeniesOnlyCertainRefusals(t *testing.T) {
	api, db := named("team-b", "api", 8080), named("team-b", "db", 5432)
	tests := map[string]struct {
		mux     *corev1.Service
		old     *corev1.Service
		svc     *corev1.Service
		pending []*corev1.Service
		want    string // message of the denial; empty if the request must be allowed
	}{
		"a number that another channel has on the mux": {mux: testMux(t, nil, api), svc: named("team-a", "web", 8080), want: conflict},
		"a number that another channel is about to get": {
			mux: testMux(t, nil), pending: []*corev1.Service{api}, svc: named("team-a", "web", 8080),
		},
		"a namespace that isn't allowed": {
			mux: testMux(t, map[string]string{"allowed-namespaces": "team-b"}), svc: named("team-a", "web", 80),
			want: "namespace team-a may not attach",
		},
		"a cap that is exceeded": {
			mux: testMux(t, map[string]string{"max-ports": "1"}, api), svc: named("team-a", "web", 80),
			want: "1 port more would pass the 1 ports (max-ports)",
		},
		"a disallowed protocol": {
			mux: testMux(t, map[string]string{"allowed-protocols": "UDP"}), svc: named("team-a", "web", 80),
			want: "doesn't take TCP, only UDP",
		},
		"a missing mux may be created a moment later": {mux: named("x", "x", 1), svc: named("team-a", "web", 80)},
		"a paused mux will continue": {
			mux: testMux(t, map[string]string{"disabled": "true"}, api), svc: named("team-a", "web", 80),
		},
		"a nearly used-up range": {
			mux: testMux(t, map[string]string{"max-ports": "2"}, api), svc: named("team-a", "web", 80),
		},
		"a disabled channel is enabled on a mux with a narrower range": {
			mux: testMux(t, map[string]string{"explicit-range": "20000-20099"}, api), old: disabled(named("team-a", "web", 8443)),
			svc: named("team-a", "web", 8443),
		},
		"a disabled channel is enabled for a number that another one has": {
			mux: testMux(t, nil, api), old: disabled(named("team-a", "web", 8080)), svc: named("team-a", "web", 8080), want: conflict,
		},
		"one of two conflicts is resolved": {
			mux: testMux(t, nil, api, db), old: named("team-a", "web", 8080, 5432), svc: named("team-a", "web", 8081, 5432),
		},
		"one of two conflicts is resolved, and a third is added": {
			mux: testMux(t, nil, api, db), old: named("team-a", "web", 9090, 5432), svc: named("team-a", "web", 8080, 5432), want: conflict,
		},
		"a label on a refused channel": {
			mux: testMux(t, nil, api), old: named("team-a", "web", 8080), svc: named("team-a", "web", 8080),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			seer := newSeer(t, append(tc.pending, tc.mux, api, db)...)
			seer.strict = true
			got := seer.review(t, request(t, tc.old, tc.svc))
			if got.Allowed != (tc.want == "") {
				t.Fatalf("allowed %v: %v", got.Allowed, got.Result)
			}
			if tc.want != "" && !strings.Contains(got.Result.Message, tc.want) {
				t.Errorf("the denial %q lacks %q", got.Result.Message, tc.want)
			}
		})
	}
}

func TestDenialIsCountedAndNamesItsField(t *testing.T) {
	api := named("team-b", "api", 8080)
	seer := newSeer(t, testMux(t, nil, api), api)
	seer.strict, seer.hide = true, true
	got := seer.review(t, request(t, nil, named("team-a", "web", 8080)))
	want := []metav1.StatusCause{{Type: "MuxPortConflict", Field: "spec.ports",
		Message: `port "http" asks for 8080/TCP, which a channel of another namespace has: ask for another number such as 8081`}}
	if diff := cmp.Diff(want, got.Result.Details.Causes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := testutil.ToFloat64(seer.metrics.predictions.WithLabelValues("MuxPortConflict", "denied")); got != 1 {
		t.Errorf("%v counted", got)
	}
}
