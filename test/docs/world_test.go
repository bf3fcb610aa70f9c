package docs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/binaries"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

// version is the chart's appVersion: pages install the chart without naming images.
const version = "devel"

// world is the cluster that all pages share.
type world struct {
	*cluster.Cluster

	programs  string // folder of svcmux
	kinds     string // folder of the Gateway API's CRDs: the $GATEWAY_API of the pages
	installed state  // right after the install; zero if not installed
}

// state is the product's state. Field mux has the mux's settings, without the ports of channels, which come and go.
type state struct{ mux, release string }

// app is an image that answers HTTP on port 8080: the $APP of the pages. standIns are names of images in manifests of
// the pages. Each answers HTTP and UDP on port 8080 with its pod's name.
const app = product.Registry + "/web:1"

var standIns = []string{"registry.example.com/team/db:1", "registry.example.com/team/game:1"}

func start(t *testing.T) *world {
	t.Helper()
	images, err := product.Build(t.Context(), t.TempDir(), version)
	if err != nil {
		t.Fatal(err)
	}
	built, err := cluster.Binaries(t.Context(), binaries.Pod())
	if err != nil {
		t.Fatal(err)
	}
	var apps []cluster.Image
	for _, name := range append([]string{app}, standIns...) {
		apps = append(apps, cluster.Image{Name: name, Program: filepath.Join(built["pod"], "pod"), As: "/pod",
			Entrypoint: []string{"/pod", "serve"}})
	}
	archive := filepath.Join(t.TempDir(), "apps.tar")
	if err := cluster.WriteArchive(archive, apps...); err != nil {
		t.Fatal(err)
	}
	programs := t.TempDir()
	if _, err := product.CommandLine(t.Context(), programs, version); err != nil {
		t.Fatal(err)
	}
	return &world{
		Cluster: cluster.Start(t, cluster.Nodes(1, images, archive), cluster.CertManager(), cluster.Helm(),
			cluster.WithProvider()),
		programs: programs,
		kinds:    product.GatewayAPI(t),
	}
}

// ready restores the product to its state after the first install, or removes it if the page wants a bare cluster. If a
// page changed only the release, an upgrade suffices, which takes half as long.
func (w *world) ready(t *testing.T, bare bool) {
	t.Helper()
	now := w.state(t)
	if w.installed != (state{}) && !bare && now == w.installed {
		return
	}
	if bare || now.mux == "" || now.mux != w.installed.mux {
		w.away(t)
	}
	if bare {
		return
	}
	// The mux isn't one of GKE, so pages can use TCP and UDP.
	release := product.Helm{Release: product.Release, Namespace: product.Namespace, Version: version,
		Values: []string{"defaultLoadBalancer.provider=none"}}
	if _, err := release.Install(t.Context(), w.Cluster); err != nil {
		t.Fatal(err)
	}
	w.Kubectl(t, "wait", "service", "mux", "--namespace="+product.Namespace,
		"--for=jsonpath={.status.loadBalancer.ingress}", "--timeout=60s")
	w.installed = w.state(t)
}

func (w *world) state(t *testing.T) state {
	t.Helper()
	const mux = `go-template={{range $key, $value := .metadata.annotations}}{{$key}}={{$value}}{{"\n"}}{{end}}`
	out, err := w.TryKubectl(t.Context(), "", "get", "service", "mux", "--namespace="+product.Namespace, "--output="+mux)
	if err != nil {
		return state{}
	}
	var settings []string
	for line := range strings.Lines(out.Stdout) {
		key, _, _ := strings.Cut(line, "=")
		ours := []string{"channels", "topology", "summary", "generation", "ledger", "aggregated-external-dns"}
		if name, prefixed := strings.CutPrefix(key, "svc-mux.nowake.ai/"); !prefixed || !slices.Contains(ours, name) {
			settings = append(settings, line)
		}
	}
	release := w.Helm(t, "list", "--namespace="+product.Namespace, "--short", "--deployed")
	revision := w.Kubectl(t, "get", "secrets", "--namespace="+product.Namespace, "--selector=owner=helm", "--output=name")
	return state{mux: strings.Join(settings, ""), release: release + revision}
}

// away uninstalls the product, whatever state a page left it in.
func (w *world) away(t *testing.T) {
	t.Helper()
	w.installed = state{}
	if _, err := w.TryHelm(t.Context(), "uninstall", product.Release, "--namespace="+product.Namespace, "--wait",
		"--ignore-not-found"); err != nil {
		t.Fatal(err)
	}
	w.Kubectl(t, "delete", "namespace", product.Namespace, "--ignore-not-found", "--timeout=60s")
}

// kinds are the kinds of objects that pages create. Their dependents are garbage-collected with them. The Gateway API's
// CRDs stay: no other page notices them, and two pages need them.
const kinds = "namespaces,services,deployments.apps,statefulsets.apps,configmaps,secrets," +
	"networkpolicies.networking.k8s.io,pods,serviceaccounts"

func (w *world) objects(t *testing.T) []string {
	t.Helper()
	const columns = "custom-columns=KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name"
	var objects []string
	for line := range strings.Lines(w.Kubectl(t, "get", kinds, "--all-namespaces", "--no-headers", "--output="+columns)) {
		objects = append(objects, strings.Join(strings.Fields(line), " "))
	}
	return objects
}

// tidy removes the objects that a page created: first whole namespaces, then objects in older namespaces. Uninstalling
// removes the release's own objects.
func (w *world) tidy(t *testing.T, before []string) {
	if t.Failed() {
		w.tell(t)
	}
	made := map[string][]string{} // kubectl's arguments for namespace and kind, to names
	var deployments strings.Builder
	for _, line := range w.objects(t) {
		words := strings.Fields(line)
		if len(words) != 3 || slices.Contains(before, line) || slices.Contains(words[1:], product.Namespace) {
			continue
		}
		if words[1] != "<none>" && !slices.Contains(before, strings.Join([]string{"Namespace", "<none>", words[1]}, " ")) {
			if words[0] == "Deployment" {
				fmt.Fprintf(&deployments, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {namespace: %s, name: %s}\n",
					words[1], words[2])
			}
			continue // deleted with its namespace
		}
		place := strings.ToLower(words[0])
		if words[1] != "<none>" {
			place = "--namespace=" + words[1] + " " + place
		}
		made[place] = append(made[place], words[2])
	}
	w.deleteFirst(t, deployments.String())
	if t.Failed() { // a page that passes has deleted its GatewayClass
		_, _ = w.TryKubectl(t.Context(), "", "delete", "gatewayclasses", "--all", "--timeout=20s") // the kind may be missing
	}
	for _, place := range slices.SortedFunc(maps.Keys(made), func(a, b string) int { return strings.Compare(b, a) }) {
		args := append([]string{"delete", "--ignore-not-found", "--timeout=60s"}, strings.Fields(place)...)
		w.Kubectl(t, append(args, made[place]...)...)
	}
	if !w.released(t) {
		w.installed = state{} // unknown state: the next page gets a new install
	} else if w.installed == (state{}) {
		w.installed = w.state(t) // the page installed the product, and the next page reuses it
	}
}

// deleteFirst deletes Deployments and waits until their pods are gone. If a namespace still has pods when it is
// deleted, the namespace controller looks again only after half of their grace period.
func (w *world) deleteFirst(t *testing.T, deployments string) {
	t.Helper()
	if deployments == "" {
		return
	}
	if _, err := w.TryKubectl(t.Context(), deployments, "delete", "--filename=-", "--cascade=foreground",
		"--timeout=60s"); err != nil {
		t.Fatal(err)
	}
}

// replaced waits until the pods of the former release are gone: they answer for five seconds more, with the former
// settings.
func (w *world) replaced(t *testing.T) {
	t.Helper()
	cluster.Eventually(t, "the former pods are gone", func(ctx context.Context) error {
		out, err := w.TryKubectl(ctx, "", "get", "pods", "--namespace="+product.Namespace,
			"--output=jsonpath={.items[*].metadata.deletionTimestamp}")
		if err == nil && out.Stdout != "" {
			err = errors.New("pods are ending since " + out.Stdout)
		}
		return err
	})
}

// released waits until the mux has released the page's numbers, so that the next page finds all of them free.
func (w *world) released(t *testing.T) bool {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		mux, err := w.Client.CoreV1().Services(product.Namespace).Get(t.Context(), "mux", metav1.GetOptions{})
		if err != nil {
			return false // the page uninstalled the product
		}
		if len(mux.Spec.Ports) == 1 && mux.Spec.Ports[0].Port == 101 {
			return true
		}
	}
	return false
}

// tell logs the Events of a failed page.
func (w *world) tell(t *testing.T) {
	if out, err := w.TryKubectl(t.Context(), "", "events", "--all-namespaces", "--types=Warning"); err == nil {
		t.Log(out.Stdout)
	}
}
