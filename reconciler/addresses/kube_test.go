package addresses

import (
	"context"
	"net/netip"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/reconciler/addresses/decide"
)

func newKube(t *testing.T, objects ...client.Object) (*Kube, *record.FakeRecorder) {
	t.Helper()
	api := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithStatusSubresource(&corev1.Service{}).WithObjects(
		objects...).Build()
	events := record.NewFakeRecorder(8)
	return &Kube{Keys: testLanguage(t).Keys(), Namespace: "lb", MuxNamespaces: []string{"edge"}, Cache: api, Live: api,
		Writer: api, Events: events}, events
}

func inNamespace(namespace, name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}
}

func TestListsHaveOnlyWhatTheControllerReads(t *testing.T) {
	ofPool := map[string]string{testLanguage(t).Keys().Pool: "p"}
	k, _ := newKube(t,
		&corev1.Service{ObjectMeta: inNamespace("edge", "web", nil)},
		&corev1.Service{ObjectMeta: inNamespace("other", "web", nil)},
		&corev1.ConfigMap{ObjectMeta: inNamespace("lb", claims.Name("labelled"), ofPool)},
		&corev1.ConfigMap{ObjectMeta: inNamespace("lb", claims.Name("bare"), nil)},
		&corev1.ConfigMap{ObjectMeta: inNamespace("lb", "foreign", nil)},
		&corev1.ConfigMap{ObjectMeta: inNamespace("edge", claims.Name("far"), ofPool)},
		&coordinationv1.Lease{ObjectMeta: inNamespace("lb", lease.Name("a"), ofPool)},
		&coordinationv1.Lease{ObjectMeta: inNamespace("lb", "leader", nil)})
	for _, live := range []bool{false, true} {
		services, err := k.Services(t.Context(), live)
		if err != nil || len(services) != 1 || services[0].Namespace != "edge" {
			t.Errorf("Services: %v, %v", services, err)
		}
		leases, err := k.Leases(t.Context(), live)
		if err != nil || len(leases) != 1 || leases[0].Name != lease.Name("a") {
			t.Errorf("Leases: %v, %v", leases, err)
		}
	}
	found, err := k.Claims(t.Context(), []string{"labelled", "bare", "lost"})
	if err != nil || len(found) != 2 || found[0].Name != claims.Name("labelled") || found[1].Name != claims.Name("bare") {
		t.Errorf("ConfigMaps: %v, %v", found, err)
	}
}

// pageless answers lists as controller-runtime's cache does: whole, and with a word in place of the token for the next
// page.
type pageless struct{ client.Reader }

func (p pageless) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	defer list.SetContinue("continue-not-supported")
	return p.Reader.List(ctx, list, options...)
}

func TestCachesHaveOnePage(t *testing.T) {
	k, _ := newKube(t, &corev1.Service{ObjectMeta: inNamespace("edge", "web", nil)})
	k.Cache = pageless{k.Cache}
	if services, err := k.Services(t.Context(), false); err != nil || len(services) != 1 {
		t.Errorf("Services: %v, %v", services, err)
	}
}

func TestWritesOfOldVersionsFail(t *testing.T) {
	k, _ := newKube(t, &corev1.Service{ObjectMeta: inNamespace("edge", "web", nil)})
	cm := &corev1.ConfigMap{ObjectMeta: inNamespace("lb", claims.Name("p"), nil)}
	if err := k.WriteClaims(t.Context(), cm.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if err := k.WriteClaims(t.Context(), cm.DeepCopy()); !apierrors.IsAlreadyExists(err) {
		t.Errorf("the ConfigMap was created twice: %v", err)
	}
	list, err := k.Claims(t.Context(), []string{"p"})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if err := k.WriteClaims(t.Context(), list[0].DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if err := k.WriteClaims(t.Context(), list[0].DeepCopy()); !apierrors.IsConflict(err) {
		t.Errorf("an old version was written: %v", err)
	}
	services, err := k.Services(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	change := Change{Service: services[0], SetsAddresses: true, Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}
	if err := k.WriteStatus(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	if err := k.WriteStatus(t.Context(), change); !isStale(err) {
		t.Errorf("an old version was patched: %v", err)
	}
	services, err = k.Services(t.Context(), true)
	if err != nil || len(claims.Shown(services[0])) != 1 {
		t.Errorf("%v, %v", services, err)
	}
}

func TestEventsNameTheirObjects(t *testing.T) {
	k, events := newKube(t)
	events.IncludeObject = true
	k.Tell(&corev1.Service{ObjectMeta: inNamespace("edge", "web", nil)},
		decide.Event{IsWarning: true, Reason: "PoolFull", Message: "full"})
	k.Warn("p", decide.Alarm{Gateway: "a", Reason: decide.GatewayStale, Message: "stale"})
	for _, want := range []string{"Warning PoolFull full involvedObject{kind=,apiVersion=}",
		"Warning GatewayStale stale involvedObject{kind=Lease,apiVersion=coordination.k8s.io/v1}"} {
		if got := <-events.Events; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
