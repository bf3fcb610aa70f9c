package addresses

import (
	"context"
	"net/netip"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/addresses/decide"
)

// API is what the controller reads and writes. Kube is the real one.
type API interface {
	// Claims returns the ConfigMaps of all pools' claims, from a live read: those of these pools by name, and others by
	// label.
	Claims(ctx context.Context, pools []string) ([]corev1.ConfigMap, error)
	// Services and Leases return full lists, from the cache or live. The caller never changes them.
	Services(ctx context.Context, live bool) ([]*corev1.Service, error)
	Leases(ctx context.Context, live bool) ([]*coordinationv1.Lease, error)
	// WriteClaims creates a ConfigMap without a version, and updates one with a version. It fails on a conflict.
	WriteClaims(ctx context.Context, cm *corev1.ConfigMap) error
	// WriteStatus changes the status of a Service. It fails if the Service has changed since the version that the change
	// was decided from.
	WriteStatus(ctx context.Context, change Change) error
	// Tell emits an Event.
	Tell(svc *corev1.Service, event decide.Event)
	// Warn emits a warning about a gateway's Lease, or about a pool's ConfigMap if the gateway's name is empty.
	Warn(pool string, alarm decide.Alarm)
}

// Change is a change of a Service's status, and of our annotation.
type Change struct {
	// Service is the version that the change was decided from.
	Service *corev1.Service
	// Addresses replace the status's addresses if SetsAddresses is true.
	Addresses     []netip.Addr
	SetsAddresses bool
	// Conditions are added or replaced, and Removed are the types of conditions that are removed.
	Conditions []metav1.Condition
	Removed    []string
	// CarriedBy is our annotation; if it is empty, the annotation is removed.
	CarriedBy string
}
