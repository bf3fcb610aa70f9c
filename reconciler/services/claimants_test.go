package services

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// readGateways are claimants that know whether their Gateways were read, and claim nothing.
type readGateways struct {
	Claimants
	read bool
}

func (r readGateways) Knows(types.NamespacedName) bool               { return r.read }
func (readGateways) On(types.NamespacedName) []plan.ObservedChannel  { return nil }
func (readGateways) Shown(types.NamespacedName) []claimants.Listener { return nil }

func TestListenersAreUnknownUntilTheirGatewayIsRead(t *testing.T) {
	gateway := metav1.OwnerReference{APIVersion: "gateway.networking.k8s.io/v1", Kind: "Gateway", Name: "edge", UID: "g",
		Controller: ptr.To(true)}
	application := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Gateway", Name: "edge", UID: "g",
		Controller: ptr.To(true)}
	for name, test := range map[string]struct {
		owner     metav1.OwnerReference
		claimants Claimants
		unknown   bool
	}{
		"the Gateway isn't read":              {gateway, readGateways{}, true},
		"the Gateway is read":                 {gateway, readGateways{read: true}, false},
		"this process serves no Gateways":     {gateway, nil, true},
		"the mux is somebody else's":          {application, readGateways{}, false},
		"somebody else's, and none is served": {application, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			line := newLine(t, answering{})
			line.Claimants = test.claimants
			svc := service("12")
			svc.Annotations[line.Language.Keys().Multiplexer], svc.OwnerReferences = "true", []metav1.OwnerReference{test.owner}
			line.trim(svc)
			line.trim(svc) // informers may trim an object twice
			o := &pass{Line: line, memory: newMemory(budget.Limit{}), service: svc,
				world: plan.World{Key: client.ObjectKeyFromObject(svc), Mux: &plan.ObservedMux{}}}
			o.observeClaimants(t.Context())
			if o.world.ListenersUnknown != test.unknown {
				t.Errorf("listeners are unknown: %t, want %t", o.world.ListenersUnknown, test.unknown)
			}
			look := &cached{line: line, ctx: t.Context(), mux: o.world.Key}
			if shown, err := look.Claimants(svc); err != nil || shown.Unknown != test.unknown {
				t.Errorf("a look doesn't see what the pass sees: %+v, %v", shown, err)
			}
		})
	}
}

// liveGateways answer a live read of a listener.
type liveGateways struct {
	Claimants
	listener *plan.ObservedChannel
	fails    error
}

func (l liveGateways) Live(context.Context, types.NamespacedName, types.NamespacedName) (*plan.ObservedChannel, error) {
	return l.listener, l.fails
}

func TestAListenerIsConfirmedByALiveRead(t *testing.T) {
	key, busy := types.NamespacedName{Namespace: "infra", Name: "gateway/edge/web"}, errors.New("busy")
	listener := func(uid types.UID) *plan.ObservedChannel {
		c := &plan.ObservedChannel{}
		c.Key, c.UID = key, uid
		return c
	}
	for name, test := range map[string]struct {
		cached bool
		from   Claimants
		uid    types.UID // of the listener in the world; empty for none
		live   plan.Liveness
		unread bool
		err    error
	}{
		"it is as the cache has it": {cached: true, from: liveGateways{listener: listener("live")}, uid: "live",
			live: plan.Gone},
		"it is gone":                         {cached: true, from: liveGateways{}, live: plan.Gone},
		"the cache doesn't have it":          {from: liveGateways{listener: listener("live")}, uid: "live", live: plan.Gone},
		"it can't be read":                   {cached: true, from: liveGateways{fails: busy}, err: busy},
		"it isn't cached, and can't be read": {from: liveGateways{fails: busy}, live: plan.Present, unread: true},
		"this process serves no Gateways":    {from: nil, live: plan.Present},
	} {
		t.Run(name, func(t *testing.T) {
			line := newLine(t, answering{})
			line.Claimants = test.from
			o := &pass{Line: line, memory: newMemory(budget.Limit{}),
				world: plan.World{Live: map[types.NamespacedName]plan.Liveness{}}}
			if test.cached {
				o.world.Channels = []plan.ObservedChannel{*listener("cached")}
			}
			err := o.confirm(t.Context(), []types.NamespacedName{key})
			var uid types.UID
			if len(o.world.Channels) > 0 {
				uid = o.world.Channels[0].UID
			}
			if !errors.Is(err, test.err) || uid != test.uid || o.world.Live[key] != test.live || o.unread != test.unread {
				t.Errorf("%v; listener %q, live %v, unread %t", err, uid, o.world.Live[key], o.unread)
			}
		})
	}
}
