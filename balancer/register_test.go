package balancer_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/balancer"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/validation"
)

// noLeases has no Lease, and lets nobody create one.
type noLeases struct{}

func (noLeases) Get(context.Context, string, metav1.GetOptions) (*coordinationv1.Lease, error) {
	return nil, apierrors.NewNotFound(coordinationv1.Resource("leases"), "svc-lb-mux-gateway-far-1")
}

func (noLeases) Create(context.Context, *coordinationv1.Lease, metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return nil, apierrors.NewForbidden(coordinationv1.Resource("leases"), "", nil)
}

func (noLeases) Update(context.Context, *coordinationv1.Lease, metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	panic("there is nothing to update")
}

// TestAgentSaysThatItsLeaseMustBeMadeFirst: an agent on a machine outside of the cluster can't create its Lease.
func TestAgentSaysThatItsLeaseMustBeMadeFirst(t *testing.T) {
	language, err := validation.New(validation.DefaultPrefix, "edge")
	if err != nil {
		t.Fatal(err)
	}
	core, logged := observer.New(zap.WarnLevel)
	facts := &lease.Facts{Capacity: 1, Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}
	r := balancer.NewRegistrar(noLeases{}, lease.Gateway{Name: "far-1", Pool: "far", Facts: facts}, language.Keys(),
		balancer.NewMetrics(), zap.New(core).Sugar())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	for logged.Len() == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	<-done
	const want = "there is no Lease svc-lb-mux-gateway-far-1, and this account may not create it: " +
		"create it with the label svc-mux.nowake.ai/pool=far"
	if got, _ := logged.All()[0].ContextMap()["error"].(string); !strings.Contains(got, want) {
		t.Errorf("the agent says %q", got)
	}
}
