package mux

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// readGateways are claimants of which it is known whether their Gateways were read. There are none.
type readGateways struct {
	Claimants
	read bool
}

func (r readGateways) Knows(types.NamespacedName) bool              { return r.read }
func (readGateways) On(types.NamespacedName) []plan.ObservedChannel { return nil }

func TestListenersAreUnknownUntilTheirGatewayIsRead(t *testing.T) {
	gateway := metav1.OwnerReference{APIVersion: "gateway.networking.k8s.io/v1", Kind: "Gateway", Name: "edge", UID: "g", Controller: ptr.To(true)}
	application := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Gateway", Name: "edge", UID: "g", Controller: ptr.To(true)}
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
			line.trim(svc) // as informers may
			o := &pass{Line: line, memory: newMemory(budget.Limit{}), service: svc, world: plan.World{Key: client.ObjectKeyFromObject(svc), Mux: &plan.ObservedMux{}}}
			o.observeClaimants(t.Context())
			if o.world.ListenersUnknown != test.unknown {
				t.Errorf("listeners are unknown: %t, want %t", o.world.ListenersUnknown, test.unknown)
			}
		})
	}
}
