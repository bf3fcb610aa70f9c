package sight

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

var (
	muxKey     = types.NamespacedName{Namespace: "svc-mux", Name: "mux"}
	channelKey = types.NamespacedName{Namespace: "shop", Name: "web"}
)

// fixture is a Source whose parts a test sets.
type fixture struct {
	mux      *corev1.Service
	channels []*corev1.Service
	sources  []*discoveryv1.EndpointSlice
	onMux    []*discoveryv1.EndpointSlice
	ledger   plan.Reading
	others   Claimants
	fails    map[string]error
}

func (f *fixture) Mux() (*corev1.Service, bool, error) {
	if err := f.fails["mux"]; err != nil {
		return nil, false, err
	}
	return f.mux, false, nil
}
func (f *fixture) Channels() ([]*corev1.Service, error) { return f.channels, f.fails["channels"] }
func (f *fixture) Claimants(*corev1.Service) (Claimants, error) {
	return f.others, f.fails["claimants"]
}
func (f *fixture) Sources(types.NamespacedName) ([]*discoveryv1.EndpointSlice, error) {
	return f.sources, f.fails["sources"]
}
func (f *fixture) OnMux() ([]*discoveryv1.EndpointSlice, error) { return f.onMux, f.fails["onMux"] }
func (f *fixture) Ledger(*plan.ObservedMux) (plan.Reading, error) {
	return f.ledger, f.fails["ledger"]
}
func (*fixture) RefusedSlices(types.NamespacedName) string { return "" }

func language(t *testing.T) validation.Language {
	t.Helper()
	l, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// newFixture returns a mux, and a channel that asks for 80 and has it. The channel has a ready backend, which is
// carried.
func newFixture(t *testing.T) *fixture {
	keys := language(t).Keys()
	id := plan.PortID{Channel: channelKey, Name: "http", Protocol: corev1.ProtocolTCP}
	endpoints := []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}}
	return &fixture{
		mux: &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: muxKey.Namespace, Name: muxKey.Name, UID: "mux",
				Annotations: map[string]string{
					keys.Multiplexer: "true", keys.Generation: "1",
				}},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
				Ports: []corev1.ServicePort{{Name: "aaaaaaa", Port: 80, Protocol: "TCP"}}},
		},
		channels: []*corev1.Service{{
			ObjectMeta: metav1.ObjectMeta{Namespace: channelKey.Namespace, Name: channelKey.Name,
				Annotations: map[string]string{keys.Ports: "http:80->80"}},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
				LoadBalancerClass: ptr.To(validation.DefaultPrefix + "/mux"),
				Ports:             []corev1.ServicePort{{Name: "http", Port: 80, Protocol: "TCP"}}},
		}},
		sources: []*discoveryv1.EndpointSlice{{AddressType: discoveryv1.AddressTypeIPv4, Endpoints: endpoints,
			Ports: []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](8080)}}}},
		onMux: []*discoveryv1.EndpointSlice{{AddressType: discoveryv1.AddressTypeIPv4, Endpoints: endpoints,
			ObjectMeta: metav1.ObjectMeta{
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", UID: "mux"}},
				Annotations:     map[string]string{keys.Managed: "true"},
				Labels:          map[string]string{keys.ChannelNamespace: channelKey.Namespace, keys.ChannelName: channelKey.Name},
			},
			Ports: []discoveryv1.EndpointPort{{Name: ptr.To("aaaaaaa"), Port: ptr.To[int32](8080)}}}},
		ledger: plan.Reading{Ledger: plan.Ledger{Mux: muxKey, Generation: 1,
			Claims: []plan.Claim{{Owner: id, Port: 80, Public: 80, MuxName: "aaaaaaa"}}}},
		fails: map[string]error{},
	}
}

func (f *fixture) say(t *testing.T, kind func(validation.Keys) string, is metav1.ConditionStatus,
	reason validation.Reason, message string) {
	f.channels[0].Status.Conditions = append(f.channels[0].Status.Conditions, metav1.Condition{
		Type: kind(language(t).Keys()), Status: is, Reason: string(reason), Message: message,
	})
}

func (f *fixture) look(t *testing.T, onlooker bool) *Sight {
	t.Helper()
	s, err := Of(Question{Language: language(t), Mux: muxKey, Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Onlooker: onlooker}, f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func accepted(k validation.Keys) string   { return k.Accepted }
func programmed(k validation.Keys) string { return k.Programmed }
func backed(k validation.Keys) string     { return k.BackendsReady }

func TestOnlookerSeesWhatTheReconcilerSees(t *testing.T) {
	f := newFixture(t)
	if diff := cmp.Diff(f.look(t, false).Plan, f.look(t, true).Plan); diff != "" {
		t.Error(diff)
	}
	if s := f.look(t, true); s.World.Channels[0].Backends != plan.Backed || s.Plan.Verdicts[0].Ports[0].Public != 80 {
		t.Errorf("%+v", s.Plan.Verdicts)
	}
}

func TestConditionsCountMoreThanThePlan(t *testing.T) {
	const words = "the API server didn't take this channel's ports"
	f := newFixture(t)
	f.ledger.Ledger.Claims, f.mux.Spec.Ports = nil, []corev1.ServicePort{{Name: "placeholder", Port: 101}}
	f.channels[0].Annotations = nil
	f.say(t, accepted, metav1.ConditionFalse, plan.MuxPatchRefused, words)
	console, s := f.look(t, false), f.look(t, true)
	if v := console.Plan.Verdicts[0]; !v.Accepted || v.Ports[0].Public != 80 {
		t.Fatalf("the plan alone gives the port: %+v", v)
	}
	if v := s.Plan.Verdicts[0]; v.Accepted || v.Reason != plan.MuxPatchRefused || v.Message != words ||
		v.Ports[0].Public != 0 || len(s.Plan.InForce) != 0 {
		t.Errorf("%+v, in force %+v", v, s.Plan.InForce)
	}
}

func TestFreezeThatOnlyConditionsTell(t *testing.T) {
	f := newFixture(t)
	f.say(t, accepted, metav1.ConditionTrue, plan.Accepted, "")
	f.say(t, programmed, metav1.ConditionFalse, plan.Contested, "another writer keeps taking ports off")
	if s := f.look(t, true); s.Plan.Freeze == nil || s.Plan.Freeze.Reason != plan.Contested ||
		s.Plan.Verdicts[0].Programmed {
		t.Errorf("%+v", s.Plan.Freeze)
	}
	if f.look(t, false).Plan.Freeze != nil {
		t.Error("the reconciler knows better than conditions")
	}
}

func TestLedgerOfANewerReleaseDoesNotFreezeAnOnlooker(t *testing.T) {
	f := newFixture(t)
	f.ledger = plan.Reading{Condition: plan.Newer, Why: "it is newer"}
	s := f.look(t, true)
	if s.Plan.Freeze != nil || s.Unread.Ledger != "it is newer" || s.Plan.Verdicts[0].Ports[0].Public != 80 {
		t.Errorf("freeze %+v, unread %+v, %+v", s.Plan.Freeze, s.Unread, s.Plan.Verdicts[0])
	}
	if f.look(t, false).Plan.Freeze == nil {
		t.Error("the reconciler isn't frozen")
	}
}

func TestWithoutTheMuxConditionsAndAnnotationsTell(t *testing.T) {
	f := newFixture(t)
	f.fails["mux"] = Unreadable("no right")
	f.say(t, accepted, metav1.ConditionTrue, plan.Accepted, "all")
	f.say(t, programmed, metav1.ConditionTrue, plan.Programmed, "")
	s := f.look(t, true)
	if v := s.Plan.Verdicts[0]; !v.Accepted || !v.Programmed || v.Ports[0].Public != 80 || s.Unread.Mux != "no right" {
		t.Errorf("%+v", v)
	}
	f.fails["mux"], f.mux = nil, nil
	if v := f.look(t, true).Plan.Verdicts[0]; v.Accepted || v.Reason != plan.MuxNotFound {
		t.Errorf("a mux that is gone: %+v", v)
	}
}

func TestBackendsWithoutRights(t *testing.T) {
	for name, tc := range map[string]struct {
		fails []string
		err   error
		said  validation.Reason
		want  plan.Backing
	}{
		"everything is readable":       {nil, nil, plan.NoBackends, plan.Backed},
		"those on the mux are enough":  {[]string{"sources"}, Unreadable("no"), plan.NoBackends, plan.Backed},
		"the condition tells":          {[]string{"sources", "onMux"}, Unreadable("no"), plan.HasBackends, plan.Backed},
		"the condition tells of none":  {[]string{"onMux"}, Unreadable("no"), plan.NoBackends, plan.Unbacked},
		"nothing tells":                {[]string{"onMux"}, Unreadable("no"), "", plan.Unknown},
		"slices that nobody asked for": {[]string{"sources", "onMux"}, Skipped{}, plan.FamilyMismatch, plan.OtherFamily},
	} {
		f := newFixture(t)
		for _, part := range tc.fails {
			f.fails[part] = tc.err
		}
		if tc.said != "" {
			f.say(t, backed, metav1.ConditionUnknown, tc.said, "")
		}
		s := f.look(t, true)
		if got := s.World.Channels[0].Backends; got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
		if skipped := errors.As(tc.err, &Skipped{}); s.Unread.Any() != (len(tc.fails) > 0 && !skipped) {
			t.Errorf("%s: unread %+v", name, s.Unread)
		}
	}
}

// Only the reconciler counts endpoints against the limits of gateways. An onlooker without its count would predict that
// it shows all backends.
func TestLimitOfEndpointsIsTakenFromTheCondition(t *testing.T) {
	const words = "1024 of 1500 IPv4 endpoints are used"
	f := newFixture(t)
	f.say(t, backed, metav1.ConditionTrue, plan.TooManyEndpoints, words)
	if got := f.look(t, true).World.Channels[0].Excess; got != words {
		t.Errorf("got %q, want %q", got, words)
	}
}

// TestListenersAreClaimants has a listener whose number a channel has, and then a ledger that is lost before the
// listeners are known.
func TestListenersAreClaimants(t *testing.T) {
	f := newFixture(t)
	key := types.NamespacedName{Namespace: "infra", Name: "gateway/edge/web"}
	listener := plan.ObservedChannel{Admitted: true,
		Channel: validation.Channel{Object: validation.Object{Key: key, UID: "g"}, Mux: muxKey,
			Ports: []validation.ChannelPort{{Name: "tcp", Protocol: corev1.ProtocolTCP, Port: 80,
				Request: validation.Request{Kind: validation.Number, Number: 80}}}}}
	f.others = Claimants{Asking: []plan.ObservedChannel{listener}, Listeners: []claimants.Listener{{Key: key}}}
	s := f.look(t, false)
	if len(s.Plan.Verdicts) != 2 || len(s.Listeners) != 1 || s.World.ListenersUnknown {
		t.Fatalf("%+v, listeners %+v", s.Plan.Verdicts, s.Listeners)
	}
	for _, v := range s.Plan.Verdicts {
		if v.Channel == key && (v.Accepted || v.Reason != plan.MuxPortConflict) {
			t.Errorf("%+v", v)
		}
	}
	f.others, f.ledger = Claimants{Unknown: true}, plan.Reading{Condition: plan.Missing, Name: "ledger"}
	if s := f.look(t, false); s.Plan.Freeze == nil ||
		!strings.Contains(s.Plan.Freeze.Message, "doesn't know the listeners") {
		t.Errorf("freeze %+v", s.Plan.Freeze)
	}
	f.fails["claimants"] = Unreadable("no right to read Gateways")
	if s := f.look(t, true); s.Unread.Listeners != "no right to read Gateways" {
		t.Errorf("unread %+v", s.Unread)
	}
}

func TestOtherErrorsEndTheLook(t *testing.T) {
	for _, part := range []string{"mux", "channels", "claimants", "sources", "onMux", "ledger"} {
		f := newFixture(t)
		f.fails[part] = errors.New("broken")
		if _, err := Of(Question{Language: language(t), Mux: muxKey, Onlooker: true}, f); err == nil {
			t.Errorf("%s: no error", part)
		}
	}
}
