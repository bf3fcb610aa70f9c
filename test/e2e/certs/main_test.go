// Package certs tests the webhook's certificate, and the reconciler's guard of it. It uses the chart's objects on a
// real API server with the real cert-manager, the webhook's handler behind its Service, and a reconciler with the
// chart's rights.
package certs

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

const (
	namespace = "svc-mux"
	team      = "team-c"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// world is the cluster that all modes share. Each mode is a separate release with its own prefix.
type world struct {
	*cluster.Cluster

	load sync.Mutex // held while a release is under load
}

func TestCertificates(t *testing.T) {
	w := &world{Cluster: cluster.Start(t, cluster.CertManager(), cluster.Helm())}
	for _, name := range []string{namespace, team} {
		_, err := w.Client.CoreV1().Namespaces().Create(t.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]func(*testing.T, *world){
		"cert-manager keeps it": testCertManager, "an older chart had cert-manager keep it": testOlderCertManager,
		"the reconciler keeps it": testSelfManaged, "its owner provides it": testProvided,
		"cert-manager hands it over to the reconciler": testHandover,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time is waiting: for expiries, and for events that must not happen
			test(t, w)
		})
	}
}

// render returns rendered templates of the chart.
func (w *world) render(t *testing.T, release string, set []string, templates ...string) string {
	t.Helper()
	chart, err := filepath.Abs(filepath.Join("..", "..", "..", "charts", "svc-lb-mux"))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"template", release, chart, "--namespace", namespace}
	for _, value := range set {
		args = append(args, "--set", value)
	}
	for _, template := range templates {
		args = append(args, "--show-only", "templates/"+template)
	}
	return w.Helm(t, args...)
}

// machine returns this process's address inside of the cluster.
func (w *world) machine(t *testing.T) string {
	t.Helper()
	return w.Kubectl(t, "get", "endpointslice", "kubernetes", "-o", "jsonpath={.endpoints[0].addresses[0]}")
}

func detached(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(context.WithoutCancel(t.Context()))
}
