package life

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

// testChartFirst uninstalls the chart under traffic. Ports and addresses stay, and a reinstall keeps them.
func testChartFirst(t *testing.T, w *world, main product.Helm) {
	traffic := w.ask(t, w.urls(t)...)
	held, led := w.holds(t, main.Namespace, "mux", ports()...), w.leads(t, main.Namespace, "mux", muxNames()...)
	product.Uninstall(t, w.Cluster)
	w.takes(t, prefix+"/mux")
	w.unheld(t)
	for _, h := range estate() {
		w.gets(t, h.channel, fmt.Sprintf("http:80->%d", h.public))
	}
	w.Apply(t, channel("between", prefix+"/mux", "auto"))

	w.install(t, main)
	w.refuses(t, prefix+"/mux")
	w.gets(t, "between", "http:80->20000")
	for _, h := range estate() {
		w.gets(t, h.channel, fmt.Sprintf("http:80->%d", h.public))
	}
	traffic.end(t)
	held.end(t)
	led.end(t)
	w.Kubectl(t, "delete", "service", "between", "--namespace="+shop)
}

// testChannelsFirst deletes the channels, and then uninstalls the chart. Only what the notes list may stay.
func testChannelsFirst(t *testing.T, w *world, main product.Helm) {
	notes := w.Helm(t, "get", "notes", main.Release, "--namespace="+main.Namespace)
	for _, h := range estate() {
		w.Kubectl(t, "delete", "service", h.channel, "--namespace="+shop, "--timeout=20s")
	}
	cluster.Eventually(t, "the mux has its placeholder alone", func(context.Context) error {
		return differs([]string{"101/TCP"}, portsOf(w.service(t, main.Namespace, "mux")))
	})
	product.Uninstall(t, w.Cluster)
	w.unheld(t)
	want := []string{"configmap/mux-port-allocations", "lease.coordination.k8s.io/svc-mux", "secret/svc-mux-webhook-ca",
		"secret/svc-mux-webhook-tls", "service/mux"}
	for _, name := range want[1:] {
		if _, name, _ = strings.Cut(name, "/"); !strings.Contains(notes, name) {
			t.Errorf("the notes don't say that %s stays", name)
		}
	}
	cluster.Eventually(t, "nothing else is left", func(context.Context) error {
		return differs(want, w.left(t, main.Namespace))
	})
	if clusterwide := w.clusterwide(t); len(clusterwide) > 0 {
		t.Errorf("cluster-scoped objects remain: %v", clusterwide)
	}
	w.Kubectl(t, "delete", "namespace", main.Namespace, "--timeout=60s") // no finalizer delays it
}

// testNamespaceFirst deletes the namespace with everything in it, including helm's record of the release.
func testNamespaceFirst(t *testing.T, w *world) {
	const namespace, class = "gone", prefix + "/mux.gone"
	w.install(t, product.Helm{Release: product.Release, Namespace: namespace})
	w.Apply(t, channel("orphan", class, "auto"))
	w.gets(t, "orphan", "http:80->20000")
	w.Kubectl(t, "delete", "namespace", namespace, "--timeout=90s")
	w.unheld(t)
	cluster.Eventually(t, "no webhook denies channels", func(context.Context) error {
		_, err := w.tryBad(t, class)
		return err
	})
	w.Kubectl(t, "label", "service", "orphan", "--namespace="+shop, "changed=true")
	w.Kubectl(t, "delete", "service", "orphan", "--namespace="+shop, "--timeout=20s")

	w.install(t, product.Helm{Release: product.Release, Namespace: namespace})
	w.refuses(t, class)
	w.Apply(t, channel("again", class, "auto"))
	w.gets(t, "again", "http:80->20000")
}

// unheld checks that no Service has a finalizer of ours or of Kopf's.
func (w *world) unheld(t *testing.T) {
	t.Helper()
	list, err := w.Client.CoreV1().Services("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if len(list.Items[i].Finalizers) > 0 {
			t.Errorf("%s/%s has finalizers %v", list.Items[i].Namespace, list.Items[i].Name, list.Items[i].Finalizers)
		}
	}
}

// left returns the objects in a namespace, without defaults of every namespace, Events, and dependents of Services.
func (w *world) left(t *testing.T, namespace string) []string {
	t.Helper()
	var names []string
	for name := range strings.FieldsSeq(w.Kubectl(t, "get", "--namespace="+namespace, "--output=name",
		"deployments,replicasets,pods,jobs,services,configmaps,secrets,leases,endpointslices,roles,rolebindings,"+
			"serviceaccounts,"+
			"poddisruptionbudgets,networkpolicies,issuers,certificates")) {
		if name != "configmap/kube-root-ca.crt" && name != "serviceaccount/default" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// clusterwide returns the cluster-scoped objects of releases with that name.
func (w *world) clusterwide(t *testing.T) []string {
	t.Helper()
	return strings.Fields(w.Kubectl(t, "get", "--selector=app.kubernetes.io/instance="+product.Release, "--output=name",
		"clusterroles,clusterrolebindings,validatingwebhookconfigurations,validatingadmissionpolicies,"+
			"validatingadmissionpolicybindings"))
}

func differs(want, got []string) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return errors.New("(-want +got):\n" + diff)
	}
	return nil
}
