package life

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

const selector = "app.kubernetes.io/name=svc-mux,app.kubernetes.io/instance=" + product.Release

// mainRelease is the release that starts as the original's, and lives longest.
func mainRelease(t *testing.T) product.Helm {
	return product.Helm{Release: product.Release, Namespace: product.Namespace,
		Args: []string{"--values=" + testdata(t, "values.yaml")}}
}

// ports returns the permanent ports of the main mux. The load adds others.
func ports() []string {
	var list []string
	for _, h := range estate() {
		list = append(list, fmt.Sprintf("%d/TCP", h.public))
	}
	return list
}

// muxNames returns the names of these ports.
func muxNames() []string {
	var list []string
	for _, h := range estate() {
		list = append(list, h.muxName())
	}
	return list
}

// testFromOriginal upgrades a release of the original's chart with the original's values file.
func testFromOriginal(t *testing.T, w *world, main product.Helm) {
	w.Helm(t, "install", main.Release, testdata(t, "original"), "--namespace="+main.Namespace, "--create-namespace",
		"--wait",
		"--values="+testdata(t, "values.yaml"))
	w.leave(t)
	before, err := w.Client.AppsV1().Deployments(main.Namespace).Get(t.Context(), "svc-mux", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}

	traffic := w.ask(t, w.urls(t)...)
	pods, images := w.images(t, main.Namespace, selector)
	alone := w.leadsAlone(t, main.Namespace, selector)
	held, led := w.holds(t, main.Namespace, "mux", ports()...), w.leads(t, main.Namespace, "mux", muxNames()...)
	notes := w.install(t, main)
	w.refuses(t, prefix+"/mux")
	for _, h := range estate() {
		w.gets(t, h.channel, fmt.Sprintf("http:80->%d", h.public))
	}
	w.tidied(t)
	traffic.end(t)
	held.end(t)
	led.end(t)
	pods.end(t)
	alone.end(t)

	if diff := cmp.Diff([]string{cluster.PodImage, product.Registry + "/svc-lb-mux/reconciler:" + product.Version},
		images()); diff != "" {
		t.Errorf("images that ran (-want +got):\n%s", diff)
	}
	after, err := w.Client.AppsV1().Deployments(main.Namespace).Get(t.Context(), "svc-mux", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if before.UID != after.UID {
		t.Error("the Deployment was replaced")
	}
	if !strings.Contains(notes, "not passed on") ||
		!strings.Contains(notes, "image, command, args, livenessProbe, readinessProbe, service") {
		t.Errorf("the notes don't name values without effect:\n%s", notes)
	}
	left, err := w.TryKubectl(t.Context(), "", "get", "clusterrole/svc-mux-role", "secret/svc-mux-debug-token",
		"--namespace="+main.Namespace,
		"--ignore-not-found", "--output=name")
	if err != nil || left.Stdout != "" {
		t.Errorf("objects of the original remain: %s %v", left.Stdout, err)
	}
}

func (w *world) urls(t *testing.T) []string {
	t.Helper()
	var urls []string
	for _, h := range estate() {
		urls = append(urls, fmt.Sprintf("http://%s:%d", w.address(t, product.Namespace, "mux"), h.public))
	}
	return urls
}
