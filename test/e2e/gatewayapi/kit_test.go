// Package gatewayapi tests both features of the Gateway API with a real API server and the Gateway API's own CRDs.
// TestNumbers is about numbers for routes, on a Gateway that nobody serves. TestServed is about Gateways that we serve,
// with packets. In TestEnvoyGateway, another implementation judges the ListenerSets of the allocator.
package gatewayapi

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

func TestMain(m *testing.M) { cluster.Main(m) }

const (
	prefix  = "svc-mux.nowake.ai"
	numbers = prefix + "/ports"
	// burst is how often a namespace may change its numbers on one Gateway before it must wait. Only the part churn
	// changes numbers as often.
	burst = 8
)

// world is a cluster with a reconciler that allocates numbers.
type world struct {
	*cluster.Cluster
	api client.Client
	log *product.Log
	// serves lists the namespaces whose muxes the next reconciler serves, separated by commas; all if it is empty.
	serves string
	// without are the rights that the chart grants without the allocator.
	without []product.Right
}

// start begins, and checks at the end that the reconciler used the rights of the allocator, and no others.
func start(t *testing.T) *world {
	t.Helper()
	w, granted, stop := begin(t)
	t.Cleanup(func() { // after all parts have run
		stop()
		if !t.Failed() {
			product.CompareRights(t, w.Cluster, user, granted, w.without...)
		}
	})
	return w
}

// begin starts a cluster and a reconciler with the allocator, and then installs the Gateway API. It returns the rights
// of the allocator.
func begin(t *testing.T) (w *world, granted []product.Right, stop func()) {
	t.Helper()
	w = &world{Cluster: cluster.Start(t, cluster.Audit(), cluster.Helm()), log: &product.Log{}}
	w.connect(t)
	w.Kubectl(t, "create", "namespace", "svc-mux")
	granted, stop = w.grant(t, "allocator"), w.reconcile(t, "allocator")
	cluster.Eventually(t, "the log says what is missing", func(context.Context) error {
		if !strings.Contains(w.log.String(), "kinds of the Gateway API are missing") {
			return errors.New(w.log.String())
		}
		return nil
	})
	product.InstallGatewayAPI(t, w.Cluster)
	return w, granted, stop
}

// connect makes the client. It finds kinds that are installed later.
func (w *world) connect(t *testing.T) {
	t.Helper()
	types := runtime.NewScheme()
	err := errors.Join(scheme.AddToScheme(types), gatewayv1.Install(types))
	if err == nil {
		w.api, err = client.New(w.Config, client.Options{Scheme: types})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// user is the chart's ServiceAccount.
const user = "system:serviceaccount:svc-mux:svc-mux"

// grant applies the chart's roles and policies, and returns the rights that a feature needs. Other tests check the
// rights that the chart grants without it.
func (w *world) grant(t *testing.T, feature string) []product.Right {
	t.Helper()
	manifests := w.roles(t, feature)
	w.Apply(t, manifests)
	w.Kubectl(t, "create", "serviceaccount", "svc-mux", "--namespace=svc-mux")
	w.without = product.Rights(t, w.roles(t))
	return slices.DeleteFunc(product.Rights(t, manifests), func(r product.Right) bool {
		return slices.Contains(w.without, r)
	})
}

// roles are the chart's roles and policies with some features of the Gateway API.
func (w *world) roles(t *testing.T, features ...string) string {
	t.Helper()
	chart, err := filepath.Abs("../../../charts/svc-lb-mux")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"template", "svc-mux", chart, "--namespace=svc-mux", "--show-only=templates/reconciler-roles.yaml",
		"--show-only=templates/reconciler-policy.yaml"}
	for _, feature := range features {
		args = append(args, "--set=gatewayApi."+feature+"=true")
	}
	return w.Helm(t, args...)
}

// reconcile runs a reconciler with some features of the Gateway API, as the chart's ServiceAccount.
func (w *world) reconcile(t *testing.T, features ...string) (stop func()) {
	t.Helper()
	options := run.DefaultOptions(func(string) string { return "" })
	options.Namespace, options.ProbeAddress, options.ConsoleAddress = "svc-mux", "127.0.0.1:0", "127.0.0.1:0"
	options.PortChangesBurst, options.PortChangesPace = burst, 4*time.Second
	options.LogLevel, options.LeaseName, options.MuxNamespaces = "info", "svc-mux", w.serves
	options.GatewayAPIAllocator, options.GatewayAPIImplementation = slices.Contains(features,
		"allocator"), slices.Contains(features, "implementation")
	options.LeaseDuration, options.RenewDeadline = 15*time.Second, 12*time.Second
	options.RetryPeriod = 500 * time.Millisecond
	config := rest.AnonymousClientConfig(w.Config)
	config.BearerToken = w.token(t)
	config.QPS, config.Burst, config.UserAgent = -1, -1, "reconciler"
	p := run.Process{Options: options, Config: config, Version: "test", Logs: w.log, Now: time.Now}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the reconciler failed: %v", err)
		}
		if t.Failed() {
			t.Logf("reconciler's log:\n%s", w.log)
		}
	})
}

func (w *world) token(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(w.Kubectl(t, "create", "token", "svc-mux", "--namespace=svc-mux"))
}

// gateway makes a Gateway that gives numbers, in a namespace of its own.
func (w *world) gateway(t *testing.T, namespace, more string) {
	t.Helper()
	w.Apply(t, fmt.Sprintf(`
{apiVersion: v1, kind: Namespace, metadata: {name: %[1]s}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: %[1]s, annotations: {svc-mux.nowake.ai/port-range: 20000-20009%[2]s}}
spec:
  gatewayClassName: anybodys
  listeners: [{name: web, port: 20001, protocol: HTTP}]
  allowedListeners: {namespaces: {from: All}}`, namespace, more))
}

// route makes a TCPRoute that asks for a number on a Gateway. Its parent is a ListenerSet of the route's own name.
func (w *world) route(t *testing.T, gateway, namespace, name, asks string) {
	t.Helper()
	w.Apply(t, fmt.Sprintf(`
{apiVersion: v1, kind: Namespace, metadata: {name: %[2]s}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: %[3]s, namespace: %[2]s, annotations: {svc-mux.nowake.ai/gateway: %[1]s/edge,
  svc-mux.nowake.ai/external-ports: "%[4]s"}}
spec:
  parentRefs: [{kind: ListenerSet, name: %[3]s}]
  rules: [{backendRefs: [{name: %[3]s, port: 9092}]}]`, gateway, namespace, name, asks))
}

func named(namespace, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}

// number returns the number that a route's annotation and its ListenerSet have.
func (w *world) number(ctx context.Context, namespace, name string) (int32, error) {
	var route gatewayv1.TCPRoute
	var set gatewayv1.ListenerSet
	if err := w.api.Get(ctx, named(namespace, name), &route); err != nil {
		return 0, err
	}
	if err := w.api.Get(ctx, named(namespace, name), &set); err != nil {
		return 0, err
	}
	number := set.Spec.Listeners[0].Port
	if shown := route.Annotations[numbers]; shown != fmt.Sprint(number) {
		return 0, fmt.Errorf("the annotation has %q, and the ListenerSet %d", shown, number)
	}
	if accepted, why := said(&route); accepted != "True" {
		return 0, fmt.Errorf("accepted %s: %s", accepted, why)
	}
	return number, nil
}

// has waits until a route has a number.
func (w *world) has(t *testing.T, namespace, name string, number int32) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("%s/%s has %d", namespace, name, number), func(ctx context.Context) error {
		got, err := w.number(ctx, namespace, name)
		if err == nil && got != number {
			err = fmt.Errorf("it has %d", got)
		}
		return err
	})
}

// hasSome waits until a route has any number.
func (w *world) hasSome(t *testing.T, namespace, name string) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("%s/%s has a number", namespace, name), func(ctx context.Context) error {
		_, err := w.number(ctx, namespace, name)
		return err
	})
}

// said returns our condition Accepted of a route.
func said(route *gatewayv1.TCPRoute) (status, why string) {
	for _, parent := range route.Status.Parents {
		for _, condition := range parent.Conditions {
			if parent.ControllerName == prefix+"/allocator" && condition.Type == prefix+"/Accepted" {
				return string(condition.Status), condition.Reason + ": " + condition.Message
			}
		}
	}
	return "unknown", "nothing"
}

// isTold waits until a route is refused with a message that has these words.
func (w *world) isTold(t *testing.T, namespace, name string, words ...string) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("%s/%s is refused", namespace, name), func(ctx context.Context) error {
		var route gatewayv1.TCPRoute
		if err := w.api.Get(ctx, named(namespace, name), &route); err != nil {
			return err
		}
		accepted, why := said(&route)
		for _, word := range words {
			if accepted != "False" || !strings.Contains(why, word) {
				return fmt.Errorf("accepted is %s: %s", accepted, why)
			}
		}
		return nil
	})
}

// gone waits until an object doesn't exist.
func (w *world) gone(t *testing.T, object client.Object, key client.ObjectKey) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("%T %s is gone", object, key), func(ctx context.Context) error {
		err := w.api.Get(ctx, key, object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
}

// events returns the Events about a route.
func (w *world) events(ctx context.Context, namespace, name, reason string) ([]corev1.Event, error) {
	var list corev1.EventList
	err := w.api.List(ctx, &list, client.InNamespace(namespace))
	var about []corev1.Event
	for _, event := range list.Items {
		if event.InvolvedObject.Kind == "TCPRoute" && event.InvolvedObject.Name == name && event.Reason == reason {
			about = append(about, event)
		}
	}
	return about, err
}
