// Package reconciler tests the whole reconciler with a real API server. The controllers run as in a process of their
// own, and the tests act as users, providers, GitOps tools and mishaps.
package reconciler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	reconciler "nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

const (
	prefix       = "svc-mux.nowake.ai"
	muxNamespace = "svc-mux"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// world is a cluster and a user of it.
type world struct {
	*cluster.Cluster
	user kubernetes.Interface
}

func start(t *testing.T, options ...cluster.Option) *world {
	t.Helper()
	w := &world{Cluster: cluster.Start(t, append(options, cluster.WithProvider())...)}
	w.user = w.Client
	w.namespace(t, muxNamespace)
	return w
}

func (w *world) namespace(t *testing.T, name string) {
	t.Helper()
	_, err := w.user.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// running is a reconciler in the test's process.
type running struct {
	stop func()
	log  *product.Log
	// kill ends the reconciler without waiting for its end.
	kill context.CancelFunc
	// mayFail is set if the reconciler is expected to end with an error.
	mayFail atomic.Bool
	// ended has the reconciler's result. A reader must put it back.
	ended chan error
}

// reconcile runs a reconciler until the test ends or it is stopped.
func (w *world) reconcile(t *testing.T, edits ...func(*reconciler.Process)) *running {
	t.Helper()
	options := reconciler.DefaultOptions(func(string) string { return "" })
	options.Namespace, options.ProbeAddress, options.LogLevel = muxNamespace, "127.0.0.1:0", "info"
	// Long times keep it the leader on a busy machine. A leader renews its lease in each retry period, which costs the API
	// server time.
	options.LeaseDuration, options.RenewDeadline = 15*time.Second, 12*time.Second
	options.RetryPeriod = 500 * time.Millisecond
	config := rest.CopyConfig(w.Config)
	config.QPS, config.Burst = -1, -1
	config.UserAgent = "reconciler"
	log := &product.Log{}
	p := reconciler.Process{Options: options, Config: config, Version: "test", Logs: log, Now: time.Now}
	for _, edit := range edits {
		edit(&p)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{log: log, kill: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- p.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-r.ended; err != nil && !errors.Is(err, context.Canceled) && !r.mayFail.Load() {
			t.Errorf("the reconciler failed: %v", err)
		}
	})
	t.Cleanup(func() {
		r.stop()
		if t.Failed() {
			t.Logf("reconciler's log:\n%s", log)
		}
	})
	return r
}

// edit changes a Service before it is created.
type edit func(*corev1.Service)

func annotated(key, value string) edit {
	return func(svc *corev1.Service) {
		if svc.Annotations == nil {
			svc.Annotations = map[string]string{}
		}
		if !strings.Contains(key, "/") {
			key = prefix + "/" + key
		}
		svc.Annotations[key] = value
	}
}

// port adds a port. Its number must not be 0.
func port(name string, number int32, protocol corev1.Protocol) edit {
	return func(svc *corev1.Service) {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: name, Port: number, Protocol: protocol})
	}
}

// mux creates a mux with the usual range.
func (w *world) mux(t *testing.T, name string, edits ...edit) types.NamespacedName {
	t.Helper()
	no := false
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: muxNamespace, Name: name},
		Spec: corev1.ServiceSpec{
			Type:                          corev1.ServiceTypeLoadBalancer,
			AllocateLoadBalancerNodePorts: &no,
			Ports:                         []corev1.ServicePort{{Name: "placeholder", Port: 101}},
		},
	}
	annotated("multiplexer", "true")(svc)
	annotated("port-range", "20000-20099")(svc)
	return w.create(t, svc, edits)
}

// channel creates a channel of a mux. Unless an edit adds a port, it has http on 80, as auto.
func (w *world) channel(t *testing.T, namespace, name string, mux types.NamespacedName,
	edits ...edit) types.NamespacedName {
	t.Helper()
	w.namespace(t, namespace)
	no := false
	class := prefix + "/" + mux.Name + "." + mux.Namespace
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class, AllocateLoadBalancerNodePorts: &no,
			Selector: map[string]string{"app": name},
		},
	}
	return w.create(t, svc, edits)
}

func (w *world) create(t *testing.T, svc *corev1.Service, edits []edit) types.NamespacedName {
	t.Helper()
	for _, edit := range edits {
		edit(svc)
	}
	if len(svc.Spec.Ports) == 0 {
		svc.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80}}
		annotated("external-ports", "http:auto")(svc)
	}
	made, err := w.user.CoreV1().Services(svc.Namespace).Create(t.Context(), svc, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return types.NamespacedName{Namespace: made.Namespace, Name: made.Name}
}

func (w *world) get(t *testing.T, key types.NamespacedName) *corev1.Service {
	t.Helper()
	svc, err := w.user.CoreV1().Services(key.Namespace).Get(t.Context(), key.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

// update changes a Service as a user does, and retries after write conflicts.
func (w *world) update(t *testing.T, key types.NamespacedName, change func(*corev1.Service)) {
	t.Helper()
	for {
		svc := w.get(t, key)
		change(svc)
		_, err := w.user.CoreV1().Services(key.Namespace).Update(t.Context(), svc, metav1.UpdateOptions{})
		if err == nil {
			return
		}
		if !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
	}
}

func (w *world) delete(t *testing.T, key types.NamespacedName) {
	t.Helper()
	if err := w.user.CoreV1().Services(key.Namespace).Delete(t.Context(), key.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// public returns a mux's ports, as "20000/TCP".
func (w *world) public(t *testing.T, mux types.NamespacedName) []string {
	t.Helper()
	var ports []string
	for _, port := range w.get(t, mux).Spec.Ports {
		ports = append(ports, fmt.Sprintf("%d/%s", port.Port, port.Protocol))
	}
	slices.Sort(ports)
	return ports
}

func (w *world) awaitPublic(t *testing.T, mux types.NamespacedName, want ...string) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("mux %s has %v", mux, want), func(context.Context) error {
		if got := w.public(t, mux); !slices.Equal(got, want) {
			return fmt.Errorf("the mux has %v", got)
		}
		return nil
	})
}

// condition returns a condition of ours, as "True Accepted", or an empty string.
func condition(svc *corev1.Service, kind string) string {
	for _, c := range svc.Status.Conditions {
		if c.Type == prefix+"/"+kind {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

func (w *world) awaitCondition(t *testing.T, channel types.NamespacedName, kind, want string) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("%s is %s %s", channel, kind, want), func(context.Context) error {
		if got := condition(w.get(t, channel), kind); got != want {
			return fmt.Errorf("the condition is %q: %v", got, w.get(t, channel).Status.Conditions)
		}
		return nil
	})
}

// address returns the address in a Service's status.
func address(svc *corev1.Service) string {
	var list []string
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		mode := ""
		if ingress.IPMode != nil {
			mode = " " + string(*ingress.IPMode)
		}
		list = append(list, ingress.IP+ingress.Hostname+mode)
	}
	return strings.Join(list, ", ")
}

// events returns the Events about an object as text: types, reasons, counts and messages. Those of the API server
// itself are left out: its repair loops may call a cluster IP "not allocated" if they look just as the Service is
// created.
func (w *world) events(t *testing.T, about types.NamespacedName) []string {
	t.Helper()
	list, err := w.user.CoreV1().Events(about.Namespace).List(t.Context(), metav1.ListOptions{
		FieldSelector: "involvedObject.name=" + about.Name,
	})
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, event := range list.Items {
		if strings.HasSuffix(event.ReportingController, "allocator-repair-controller") {
			continue
		}
		reasons = append(reasons, fmt.Sprintf("%s %s %d: %s", event.Type, event.Reason, max(event.Count, 1), event.Message))
	}
	slices.Sort(reasons)
	return reasons
}

func (w *world) awaitEvent(t *testing.T, about types.NamespacedName, reason string) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("%s has an Event %s", about, reason), func(context.Context) error {
		got := w.events(t, about)
		if !slices.ContainsFunc(got, func(e string) bool { return strings.Contains(e, " "+reason+" ") }) {
			return fmt.Errorf("events: %v", got)
		}
		return nil
	})
}
