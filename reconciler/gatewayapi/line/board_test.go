package line

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/status"
	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// told notes the calls that wake muxes, Gateways and backends.
type told struct {
	muxes, gateways int
	backends        []types.NamespacedName
}

func board(t *testing.T) (*Board, *told, validation.Keys) {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	b, said := NewBoard(language.Keys()), &told{}
	b.WakeMux = func(types.NamespacedName) { said.muxes++ }
	b.WakeBackends = func(list []types.NamespacedName) { said.backends = append(said.backends, list...) }
	b.connect(func(context.Context, types.NamespacedName, types.NamespacedName) (*plan.ObservedChannel, error) {
		return nil, nil
	},
		func(types.NamespacedName) { said.gateways++ })
	return b, said, language.Keys()
}

func names(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "infra", Name: name}
}

func claimant(name string, number int32) plan.ObservedChannel {
	return plan.ObservedChannel{Channel: validation.Channel{Object: validation.Object{Key: names(name), UID: "u"},
		Ports: []validation.ChannelPort{
			{Name: "tcp", Protocol: corev1.ProtocolTCP, Port: number}}}}
}

func backendsOf(all map[string][]read.Backend) func(types.NamespacedName) []read.Backend {
	return func(key types.NamespacedName) []read.Backend { return all[key.Name] }
}

func TestTheBoardWakesWhomAChangeConcerns(t *testing.T) {
	b, said, keys := board(t)
	mux, gateway := names("gateway-edge"), names("edge")
	a, web := names("gateway/edge/a"), read.Backend{Service: names("web"), PortName: "http", Weight: 1}
	if _, _, err := b.MuxOf(a); !errors.Is(err, errUnknown) {
		t.Errorf("a listener is known before anything is: %v", err)
	}
	if _, err := b.Live(t.Context(), mux, a); !errors.Is(err, errUnknown) {
		t.Errorf("a listener of an unknown mux: %v", err)
	}
	post := func(channels []plan.ObservedChannel, backends map[string][]read.Backend) (muxes int,
		fed []types.NamespacedName) {
		*said = told{}
		b.post(mux, gateway, channels, backendsOf(backends))
		return said.muxes, said.backends
	}
	one, fed := []plan.ObservedChannel{claimant("gateway/edge/a", 80)}, map[string][]read.Backend{a.Name: {web}}
	if muxes, woken := post(one, fed); muxes == 0 || !slices.Equal(woken, []types.NamespacedName{a}) {
		t.Errorf("a new listener wakes %d muxes and the backends of %v", muxes, woken)
	}
	if muxes, woken := post(one, fed); muxes != 0 || woken != nil {
		t.Errorf("no change wakes %d muxes and the backends of %v", muxes, woken)
	}
	b.Show(mux, &plan.ChannelPatch{Channel: a,
		Conditions: []metav1.Condition{{Type: keys.Programmed, Status: metav1.ConditionTrue}}, SetNote: true,
		PortsNote: "note"})
	if said.gateways != 1 {
		t.Errorf("what a listener is told wakes its Gateway %d times", said.gateways)
	}
	if _, woken := post(one, map[string][]read.Backend{a.Name: nil}); !slices.Equal(woken, []types.NamespacedName{a}) {
		t.Errorf("a lost backend wakes the backends of %v", woken)
	}
	if muxes, _ := post([]plan.ObservedChannel{claimant("gateway/edge/a", 81)}, fed); muxes == 0 {
		t.Error("another number wakes no mux")
	}
	on := b.On(mux)
	if len(on) != 1 || !meta.IsStatusConditionTrue(on[0].Conditions, keys.Programmed) || on[0].PortsNote != "note" ||
		!b.numbers(mux, &keys)[a].Programmed {
		t.Errorf("what the listener was told is lost: %+v", on)
	}
	if users := b.Users(names("web")); !slices.Equal(users, []types.NamespacedName{a}) {
		t.Errorf("the Service is used by %v", users)
	}
	if got, is, err := b.MuxOf(a); !is || got != mux || err != nil ||
		!slices.Equal(b.KeysOn(mux), []types.NamespacedName{a}) {
		t.Errorf("the listener is on %s, %t, %v", got, is, err)
	}
	if muxes, woken := post(nil, nil); muxes == 0 || len(woken) != 1 || b.Users(names("web")) != nil {
		t.Errorf("a listener that goes wakes %d muxes and the backends of %v", muxes, woken)
	}
	b.full()
	if _, is, err := b.MuxOf(a); is || err != nil {
		t.Errorf("a listener that is gone: %t, %v", is, err)
	}
	b.drop(mux, gateway)
	if b.On(mux) != nil {
		t.Error("a Gateway that is gone has listeners")
	}
}

func TestSourcesHaveTheListenersPortAlone(t *testing.T) {
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "web-1"},
		Ports: []discoveryv1.EndpointPort{
			{Name: ptr.To("admin"), Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(int32(9090))},
			{Name: ptr.To("http"), Protocol: ptr.To(corev1.ProtocolUDP), Port: ptr.To(int32(53))},
			{Name: ptr.To("http"), Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(int32(8080))},
		}}
	as := &validation.ChannelPort{Name: "tcp", Protocol: corev1.ProtocolTCP}
	got := sourceOf(slice, "http", as)
	if got == nil || len(got.Ports) != 1 || *got.Ports[0].Name != "tcp" || *got.Ports[0].Port != 8080 ||
		len(slice.Ports) != 3 {
		t.Errorf("got %+v", got)
	}
	if got := sourceOf(slice, "nothing", as); got != nil {
		t.Errorf("a port that isn't there: %+v", got)
	}
	all := []read.Backend{{Service: names("web"), PortName: "http"},
		{Service: types.NamespacedName{Namespace: "bank", Name: "web"}}, {Service: names("web"), PortName: "admin"}}
	for i, want := range []string{"web-1", "bank.web-1", "web-1.admin"} {
		if got := sourceName(all, i, "infra", "web-1"); got != want {
			t.Errorf("source %d is %s, want %s", i, got, want)
		}
	}
}

func TestAGatewayThatGoesTakesNoOtherGatewaysListeners(t *testing.T) {
	b, said, _ := board(t)
	mux, a := names("gateway-a-b-1f0c5fd2"), names("gateway/a.b/a")
	b.post(mux, names("a.b"), []plan.ObservedChannel{claimant("gateway/a.b/a", 80)}, backendsOf(nil))
	*said = told{}
	b.drop(mux, names("a-b-1f0c5fd2")) // its mux would have the same name
	if _, is, _ := b.MuxOf(a); !is || said.muxes != 0 || said.backends != nil || !b.Knows(mux) {
		t.Errorf("the listener is on the board: %t; woken: %+v", is, said)
	}
}

func TestAListenerIsProgrammedWithItsOwnNumberAlone(t *testing.T) {
	b, _, keys := board(t)
	mux, a := names("gateway-edge"), names("gateway/edge/a")
	post := func(number int32) bool {
		b.post(mux, names("edge"), []plan.ObservedChannel{claimant("gateway/edge/a", number)}, backendsOf(nil))
		return b.numbers(mux, &keys)[a].Programmed
	}
	post(80)
	b.Show(mux, &plan.ChannelPatch{Channel: a,
		Conditions: []metav1.Condition{{Type: keys.Programmed, Status: metav1.ConditionTrue}}, SetNote: true,
		PortsNote: "tcp:80->80"})
	for _, number := range []int32{80, 81, 80} {
		if got := post(number); got != (number == 80) {
			t.Errorf("it has 80 on the mux, asks for %d, and is programmed: %t", number, got)
		}
	}
}

func TestTheConsoleIsToldOnceOfEachChange(t *testing.T) {
	b, _, _ := board(t)
	mux, told := names("gateway-edge"), 0
	b.Tell = func(types.NamespacedName) { told++ }
	shown := func(reason string) []claimants.Listener {
		return []claimants.Listener{{Key: names("gateway/edge/a"),
			Conditions: []metav1.Condition{{Type: "Accepted", Reason: reason}}}}
	}
	b.setShown(mux, names("edge"), shown("Accepted")) // its Gateway isn't posted
	if told != 0 || b.Shown(mux) != nil {
		t.Errorf("told %d times of a Gateway that has no mux: %+v", told, b.Shown(mux))
	}
	b.post(mux, names("edge"), nil, backendsOf(nil))
	for _, reason := range []string{"Accepted", "Accepted", "PortUnavailable"} {
		b.setShown(mux, names("edge"), shown(reason))
	}
	b.post(mux, names("edge"), []plan.ObservedChannel{claimant("gateway/edge/a", 80)}, backendsOf(nil))
	b.setShown(mux, names("another"), nil)
	if got := b.Shown(mux); told != 2 || len(got) != 1 || got[0].Conditions[0].Reason != "PortUnavailable" {
		t.Errorf("told %d times, shown %+v", told, got)
	}
	if b.drop(mux, names("edge")); b.Shown(mux) != nil {
		t.Error("a Gateway that is gone has listeners")
	}
}

func TestEntriesOfARouteKeepTheirPlaces(t *testing.T) {
	b, _, keys := board(t)
	l := &serving{Options: &Options{Board: b, WritesAtOnce: 1, WritesOfAPass: 100}, keys: keys}
	parent := func(name string) gatewayv1.ParentReference {
		return gatewayv1.ParentReference{Name: gatewayv1.ObjectName(name)}
	}
	entry := func(controller gatewayv1.GatewayController, name string) gatewayv1.RouteParentStatus {
		return gatewayv1.RouteParentStatus{ControllerName: controller, ParentRef: parent(name)}
	}
	ours, others := read.ControllerName(&keys), gatewayv1.GatewayController("example.com/other")
	object := &gatewayv1.TCPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "r", UID: "r"}}
	object.Spec.ParentRefs = []gatewayv1.ParentReference{parent("edge"), parent("two"), parent("theirs")}
	object.Status.Parents = []gatewayv1.RouteParentStatus{entry(ours, "edge"), entry(ours, "former"), entry(ours, "two"),
		entry(others, "theirs"), entry(others, "former")}
	route, _ := read.RouteOf(object)
	gateway := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "edge"}}
	given := &status.Given{Served: read.Judge(&read.Observed{Gateway: gateway, Routes: []read.Route{route}})}
	var got []string
	for _, p := range parentsOfRoute(read.ControllerName(&l.keys), given, &route) {
		got = append(got, string(p.ControllerName)+" "+string(p.ParentRef.Name))
	}
	want := []string{string(ours) + " edge", string(ours) + " two", string(others) + " theirs", string(others) + " former"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
