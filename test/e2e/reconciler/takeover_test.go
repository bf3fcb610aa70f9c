package reconciler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	reconciler "nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// TestTakeover starts the reconciler in clusters that the Python original left.
func TestTakeover(t *testing.T) {
	t.Parallel()
	s := &scene{world: start(t, cluster.Helm())}
	s.restrain(t)
	s.proxy = s.through(t)
	t.Run("with claims", func(t *testing.T) { takeOver(t, s.leave(t, "claims", claimsOf)) })
	t.Run("with allocations of the first versions", func(t *testing.T) {
		takeOver(t, s.leave(t, "allocations", allocationsOf))
	})
	t.Run("with a broken state", func(t *testing.T) { takeOverBroken(t, s.leave(t, "broken", broken)) })
	t.Run("with Services that wait for the original's finalizer", func(t *testing.T) { s.letGo(t) })
}

func takeOver(t *testing.T, e *estate) {
	h := e.remember(t)
	before := e.portsOf(t)
	run := e.reconcile(t, func(p *reconciler.Process) { p.Config = e.proxy.Config() })
	e.awaitOurs(t)
	run.stop()

	// The Endpoints are first excluded from mirroring, and then deleted: otherwise Kubernetes would mirror them again
	// during the deletion.
	var writes []string
	for _, entry := range e.proxy.Log() {
		if entry.Resource == "endpoints" && entry.Name == e.mux.Name && entry.IsWrite() {
			writes = append(writes, entry.Verb)
		}
	}
	if diff := cmp.Diff([]string{"patch", "delete"}, writes); diff != "" {
		t.Errorf("writes of the original's Endpoints (-want +got):\n%s", diff)
	}

	e.checkTraffic(t, h.soFar(t))
	if diff := cmp.Diff(before, e.portsOf(t)); diff != "" {
		t.Errorf("ports moved (-before +after):\n%s", diff)
	}
	e.checkClean(t)
	e.checkWayBack(t)
}

// takeOverBroken checks that only backends are updated until the broken state is repaired.
func takeOverBroken(t *testing.T, e *estate) {
	h := e.remember(t)
	before, state := e.get(t, e.mux).Spec, e.configMap(t, ledgerOf(e.mux))
	e.reconcile(t)
	e.awaitTold(t, e.mux, "PortAllocationStoreInvalid")
	e.awaitSlices(t)
	for _, channel := range e.channels {
		cluster.Eventually(t, channel.String()+" shows the mux's address", func(context.Context) error {
			return differs("address", address(e.get(t, channel)), proxied(e.get(t, e.mux)))
		})
	}
	// Add a backend, as a new pod does.
	e.ports[0].backend = "10.0.8.1"
	if err := e.user.CoreV1().Endpoints(e.channels[0].Namespace).Delete(t.Context(), e.channels[0].Name,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.backends(t, e.channels[0], "api-new", "http:8080", "10.0.8.1")
	e.awaitSlices(t)
	if diff := cmp.Diff(before, e.get(t, e.mux).Spec); diff != "" {
		t.Errorf("the mux was written:\n%s", diff)
	}
	if diff := cmp.Diff(state, e.configMap(t, ledgerOf(e.mux))); diff != "" {
		t.Errorf("the state was written:\n%s", diff)
	}

	e.deleteLedger(t, e.mux)
	e.awaitOurs(t)
	e.ports[0].backend = "" // the old backend was replaced by the new one
	e.checkTraffic(t, h.soFar(t))
	e.checkClean(t)
}

// portsOf returns the mux's ports, sorted, with their names and node ports.
func (e *estate) portsOf(t *testing.T) []string {
	t.Helper()
	var ports []string
	for _, p := range e.get(t, e.mux).Spec.Ports {
		ports = append(ports, fmt.Sprintf("%s %d/%s %d", p.Name, p.Port, p.Protocol, p.NodePort))
	}
	slices.Sort(ports)
	return ports
}

// awaitSlices waits until our slices lead to every backend.
func (e *estate) awaitSlices(t *testing.T) {
	t.Helper()
	cluster.Eventually(t, "our slices lead to every backend", func(context.Context) error {
		var missing []error
		all := slicesByName(e.slicesOn(t, e.mux))
		for i := range e.ports {
			if p := &e.ports[i]; !reaches(all, e.mux, p.muxName(), p.backend) {
				missing = append(missing, fmt.Errorf("no slice leads to %s from %s", p.backend, p.muxName()))
			}
		}
		return errors.Join(missing...)
	})
}

// awaitOurs waits until nothing is left to take over.
func (e *estate) awaitOurs(t *testing.T) {
	t.Helper()
	for _, channel := range e.channels {
		var ports []string
		for _, p := range e.of(channel) {
			ports = append(ports, fmt.Sprintf("%s:%d->%d", p.name, p.number, p.public))
		}
		e.awaitServed(t, channel, strings.Join(ports, ", "))
	}
	e.awaitSlices(t)
	cluster.Eventually(t, "the original's Endpoints are gone", func(ctx context.Context) error {
		_, err := e.user.CoreV1().Endpoints(e.mux.Namespace).Get(ctx, e.mux.Name, metav1.GetOptions{})
		list, listErr := e.user.DiscoveryV1().EndpointSlices(e.mux.Namespace).List(ctx, metav1.ListOptions{
			LabelSelector: discoveryv1.LabelServiceName + "=" + e.mux.Name + "," + discoveryv1.LabelManagedBy + "=" +
				project.MirroringController,
		})
		if !apierrors.IsNotFound(err) || listErr != nil || len(list.Items) > 0 {
			return fmt.Errorf("the original's objects still exist: %w, %w, %v", err, listErr, list.Items)
		}
		return nil
	})
}

// checkTraffic checks a history: at no moment may a port be missing from the mux, or have no ready backend, in our
// slices or others.
func (e *estate) checkTraffic(t *testing.T, states []state) {
	t.Helper()
	all := map[types.NamespacedName]*discoveryv1.EndpointSlice{}
	begun, checked := false, 0
	for _, s := range states {
		at := fmt.Sprintf("%s %T %s", s.object.GetResourceVersion(), s.object, client.ObjectKeyFromObject(s.object))
		switch object := s.object.(type) {
		case *corev1.Service:
			if client.ObjectKeyFromObject(object) == e.mux {
				e.checkPorts(t, at, object)
			}
		case *discoveryv1.EndpointSlice:
			all[client.ObjectKeyFromObject(object)] = object
			if s.gone {
				delete(all, client.ObjectKeyFromObject(object))
			}
			missing := e.unreached(all)
			begun = begun || len(missing) == 0 // the history has all initial objects
			if checked++; begun && len(missing) > 0 {
				t.Errorf("after %s nothing leads to %v", at, missing)
			}
		}
	}
	if !begun || checked == 0 {
		t.Error("there was no traffic to check")
	}
}

// unreached returns the backends to which no slice leads.
func (e *estate) unreached(all map[types.NamespacedName]*discoveryv1.EndpointSlice) []string {
	var missing []string
	for i := range e.ports {
		if p := &e.ports[i]; p.backend != "" && !reaches(all, e.mux, p.muxName(), p.backend) {
			missing = append(missing, p.muxName()+" "+p.backend)
		}
	}
	return missing
}

func (e *estate) checkPorts(t *testing.T, at string, mux *corev1.Service) {
	t.Helper()
	slots := slotsOf(mux)
	for i := range e.ports {
		if p := &e.ports[i]; slots[plan.Slot{Number: p.public, Protocol: p.protocol}] != p.muxName() {
			t.Errorf("after %s port %d/%s of the mux is named %q, want %q", at, p.public, p.protocol,
				slots[plan.Slot{Number: p.public, Protocol: p.protocol}], p.muxName())
		}
	}
}

// checkClean checks that Services have nothing of Kopf's, and that fields of others stay.
func (e *estate) checkClean(t *testing.T) {
	t.Helper()
	for _, key := range append([]types.NamespacedName{e.mux}, e.channels...) {
		cluster.Eventually(t, fmt.Sprintf("nothing of Kopf's is left on %s", key), func(context.Context) error {
			svc := e.get(t, key)
			if slices.Contains(svc.Finalizers, finalizer) || svc.Annotations[kopfMemory] != "" {
				return fmt.Errorf("finalizers %v, annotations %v", svc.Finalizers, svc.Annotations)
			}
			return nil
		})
	}
	if got := e.get(t, e.mux).Finalizers; !slices.Contains(got, "service.kubernetes.io/load-balancer-cleanup") {
		t.Errorf("the provider's finalizer is gone: %v", got)
	}
}

// checkWayBack reads the ledger as the original does: its own fields must have the numbers it gave.
func (e *estate) checkWayBack(t *testing.T) {
	t.Helper()
	cm := e.configMap(t, ledgerOf(e.mux))
	if cm.Labels["app.kubernetes.io/name"] != "svc-lb-mux" || cm.Labels["app.kubernetes.io/component"] != "mux-state" ||
		cm.Annotations[prefix+"/mux"] != e.mux.String() {
		t.Errorf("the original would refuse %v, %v", cm.Labels, cm.Annotations)
	}
	type original struct {
		SchemaVersion           int
		Mux                     struct{ Namespace, Name string }
		PortClaims, Allocations []map[string]any
	}
	var got original
	if err := json.Unmarshal([]byte(cm.Data["allocations.json"]), &got); err != nil {
		t.Fatal(err)
	}
	want := original{SchemaVersion: 1, PortClaims: e.asWritten(t, "portClaims"),
		Allocations: e.asWritten(t, "allocations")}
	want.Mux.Namespace, want.Mux.Name = e.mux.Namespace, e.mux.Name
	for _, claim := range got.PortClaims {
		delete(claim, "name") // our field, which the original ignores
		delete(claim, "since")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the original would read (-want +got):\n%s", diff)
	}
}

// asWritten returns the claims that the original would write under a key of the ledger, sorted by number.
func (e *estate) asWritten(t *testing.T, key string) []map[string]any {
	t.Helper()
	text, err := json.Marshal(claimsOf(e)[key])
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(list, func(a, b map[string]any) int { return int(a["port"].(float64) - b["port"].(float64)) })
	return list
}

// letGo uses Services with the original's finalizer that are being deleted, or are no longer channels.
func (s *scene) letGo(t *testing.T) {
	held := func(svc *corev1.Service) {
		svc.Finalizers = []string{finalizer}
		annotated(kopfMemory, "{}")(svc)
	}
	mux := s.mux(t, "going", held)
	channel := s.channel(t, "going", "channel", mux, held)
	orphan := s.channel(t, "going", "orphan", types.NamespacedName{Namespace: muxNamespace, Name: "nowhere"}, held)
	plain := s.mux(t, "plain", held, func(svc *corev1.Service) {
		svc.Spec.Type, svc.Spec.AllocateLoadBalancerNodePorts = corev1.ServiceTypeClusterIP, nil
	})
	once := s.mux(t, "once", held, func(svc *corev1.Service) { delete(svc.Annotations, prefix+"/multiplexer") })
	selects := s.mux(t, "selects", held, func(svc *corev1.Service) { svc.Spec.Selector = map[string]string{"app": "web"} })
	all := []types.NamespacedName{mux, channel, orphan, plain, once, selects}
	for _, key := range all {
		s.delete(t, key)
	}
	s.reconcile(t)
	for _, key := range all {
		cluster.Eventually(t, key.String()+" is gone", func(ctx context.Context) error {
			svc, err := s.user.CoreV1().Services(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				return fmt.Errorf("finalizers %v: %w", svc.Finalizers, err)
			}
			return nil
		})
	}
}
