package webhook

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/validation"
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
		"a number that another channel has on the mux": {mux: testMux(t, nil, api), svc: named("team-a", "web", 8080),
			want: conflict},
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
			mux: testMux(t, map[string]string{"explicit-range": "20000-20099"}, api),
			old: disabled(named("team-a", "web", 8443)),
			svc: named("team-a", "web", 8443),
		},
		"a disabled channel is enabled for a number that another one has": {
			mux: testMux(t, nil, api), old: disabled(named("team-a", "web", 8080)), svc: named("team-a", "web", 8080),
			want: conflict,
		},
		"one of two conflicts is resolved": {
			mux: testMux(t, nil, api, db), old: named("team-a", "web", 8080, 5432), svc: named("team-a", "web", 8081, 5432),
		},
		"one of two conflicts is resolved, and a third is added": {
			mux: testMux(t, nil, api, db), old: named("team-a", "web", 9090, 5432), svc: named("team-a", "web", 8080, 5432),
			want: conflict,
		},
		"a new channel with source ranges": {
			mux: testMux(t, nil), svc: restricted(named("team-a", "web", 80)),
			want: "spec.loadBalancerSourceRanges: the mux svc-mux/mux is open to every client",
		},
		"a channel gets source ranges": {
			mux: testMux(t, nil, named("team-a", "web", 80)), old: named("team-a", "web", 80),
			svc:  restricted(named("team-a", "web", 80)),
			want: "spec.loadBalancerSourceRanges: the mux svc-mux/mux is open to every client",
		},
		"a channel with source ranges gets another one": {
			mux: testMux(t, nil), old: restricted(named("team-a", "web", 80)),
			svc: restricted(named("team-a", "web", 80), "192.0.2.0/24"),
		},
		"a channel gives its source ranges up": {
			mux: testMux(t, nil), old: restricted(named("team-a", "web", 80)), svc: named("team-a", "web", 80),
		},
		"source ranges on a mux on gateways": {mux: onGateways(testMux(t, nil)),
			svc: restricted(named("team-a", "web", 80))},
		"source ranges on a mux that is missing": {mux: named("x", "x", 1), svc: restricted(named("team-a", "web", 80))},
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

// restricted gives a channel source ranges.
func restricted(svc *corev1.Service, more ...string) *corev1.Service {
	svc.Spec.LoadBalancerSourceRanges = append([]string{"10.0.0.0/8"}, more...)
	return svc
}

func onGateways(mux *corev1.Service) *corev1.Service {
	class := "gateway." + validation.DefaultPrefix + "/edge"
	mux.Spec.LoadBalancerClass = &class
	return mux
}

func TestSourceRangesAreWarnedOf(t *testing.T) {
	const depends = `spec.loadBalancerSourceRanges: "10.0.0.0/8" is honoured only if the mux is on gateways`
	const refuses = `spec.loadBalancerSourceRanges: the mux svc-mux/mux is open to every client and can't ` +
		`honour "10.0.0.0/8"`
	web := func() *corev1.Service { return named("team-a", "web", 80) }
	for name, tc := range map[string]struct {
		mux, old *corev1.Service
		want     string // the beginning of the only warning; empty if there is none
	}{
		"on a mux on gateways":      {onGateways(testMux(t, nil)), nil, ""},
		"on a mux that isn't known": {named("x", "x", 1), nil, depends},
		"on a provider's mux":       {testMux(t, nil), nil, "it will get no port: " + refuses},
		"they come to a channel with ports": {testMux(t, nil, web()), web(),
			"it will lose its ports until the ranges go: " + refuses},
		"a channel that is refused already": {testMux(t, nil), restricted(web()), depends},
	} {
		t.Run(name, func(t *testing.T) {
			known := []*corev1.Service{tc.mux}
			if tc.old != nil {
				known = append(known, tc.old)
			}
			got := newSeer(t, known...).review(t, request(t, tc.old, restricted(web())))
			about := slices.DeleteFunc(got.Warnings, func(text string) bool {
				return !strings.Contains(text, "loadBalancerSourceRanges")
			})
			if !got.Allowed || len(about) > 1 || (len(about) == 1) != (tc.want != "") || tc.want != "" &&
				!strings.HasPrefix(about[0], tc.want) {
				t.Errorf("allowed %v, warned %q, want %q", got.Allowed, about, tc.want)
			}
		})
	}
}

// TestNamesForExternalDNSAreDenied checks that, without strict, too, a change is denied if it brings a name that
// external-dns would publish and that the mux doesn't allow.
func TestNamesForExternalDNSAreDenied(t *testing.T) {
	const key = "external-dns.alpha.kubernetes.io/hostname"
	with := func(names string, more ...int32) *corev1.Service {
		svc := named("team-a", "web", 80, more...)
		svc.Annotations[key] = names
		return svc
	}
	and := func(svc *corev1.Service, name, value string) *corev1.Service {
		svc.Annotations[validation.DefaultPrefix+"/"+name] = value
		return svc
	}
	other := named("team-b", "other", 443)
	narrow := testMux(t, map[string]string{"allowed-hostnames": "*.{namespace}.example.com"}, named("team-a", "web", 80),
		other)
	collected := named("team-a", "web", 80)
	collected.Annotations[validation.DefaultPrefix+"/external-dns-hostname"] = "www.bank.example.com"
	for name, tc := range map[string]struct {
		mux, old, svc *corev1.Service
		denied        bool
	}{
		"a channel with ports gets a name": {narrow, named("team-a", "web", 80), with("www.bank.example.com"),
			true},
		"a channel gets a second name": {narrow, with("www.bank.example.com"),
			with("www.bank.example.com,api.bank.example.com"), true},
		"a channel keeps its name and gets a port": {narrow, with("www.bank.example.com"),
			with("www.bank.example.com", 81), false},
		"a channel gives its name back": {narrow, with("www.bank.example.com"), named("team-a", "web", 80),
			false},
		"a channel gets an allowed name": {narrow, named("team-a", "web", 80), with("www.team-a.example.com"),
			false},
		"a new channel has a name": {narrow, nil, with("www.bank.example.com", 82), true},
		"a name comes with a number that is taken": {narrow, named("team-a", "web", 80),
			with("www.bank.example.com", 443), true},
		"a new channel has a name and a taken number": {narrow, nil, with("www.bank.example.com", 443), true},
		"a channel that is refused keeps its name": {narrow, with("www.bank.example.com", 443),
			with("www.bank.example.com", 443, 81), false},
		"a disabled channel gets a name": {narrow, and(named("team-a", "web", 80), "disabled", "true"),
			and(with("www.bank.example.com"), "disabled", "true"), true},
		"a name comes while the channel is disabled": {narrow, named("team-a", "web", 80),
			and(with("www.bank.example.com"), "disabled", "true"), true},
		"a name comes beside a problem that stays": {narrow, and(named("team-a", "web", 80), "external-ports", "nonsense"),
			and(with("www.bank.example.com"), "external-ports", "nonsense"), true},
		"the mux allows all names": {testMux(t, nil), named("team-a", "web", 80),
			with("www.bank.example.com"), false},
		"the mux isn't known": {named("x", "x", 1), named("team-a", "web", 80),
			with("www.bank.example.com"), false},
		"a name to be collected, which is only warned": {narrow, named("team-a", "web", 80), collected, false},
	} {
		t.Run(name, func(t *testing.T) {
			known := []*corev1.Service{tc.mux, other}
			if tc.old != nil {
				known = append(known, tc.old)
			}
			got := newSeer(t, known...).review(t, request(t, tc.old, tc.svc))
			if got.Allowed == tc.denied {
				t.Fatalf("allowed %v: %v %v", got.Allowed, got.Result, got.Warnings)
			}
			if tc.denied &&
				(len(got.Result.Details.Causes) != 1 || got.Result.Details.Causes[0].Field != "metadata.annotations["+key+"]") {
				t.Errorf("the denial is %+v", got.Result.Details)
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
		Message: `port "http" asks for 8080/TCP, ` +
			`which a channel of another namespace has: ask for another number such as 8081`}}
	if diff := cmp.Diff(want, got.Result.Details.Causes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := testutil.ToFloat64(seer.metrics.predictions.WithLabelValues("MuxPortConflict", "denied")); got != 1 {
		t.Errorf("%v counted", got)
	}
}
