package install

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

// TestInstall installs the chart, checks what `helm uninstall` leaves, and installs it again.
func TestInstall(t *testing.T) {
	w := start(t)
	w.Apply(t, app)
	w.shell(t, "kubectl rollout status deployment/web --timeout=60s")
	before := w.objects(t)

	var notes string
	t.Run("helm install --wait succeeds", func(t *testing.T) {
		var err error
		release := product.Helm{Release: product.Release, Namespace: product.Namespace, Validated: true}
		if notes, err = release.Install(t.Context(), w.Cluster); err != nil {
			t.Fatal(err)
		}
	})
	if notes == "" {
		return
	}
	t.Run("the printed commands work, including helm test", func(t *testing.T) { w.followNotes(t, notes) })
	t.Run("a bad Service is refused", func(t *testing.T) { w.refuses(t, prefix) })
	t.Run("a channel is reached through the mux", func(t *testing.T) { w.reached(t) })
	t.Run("another release runs beside it", func(t *testing.T) { w.beside(t) })
	t.Run("helm uninstall leaves what the notes list", func(t *testing.T) { w.leaves(t, before, notes) })
	t.Run("a reinstall gives the same number", func(t *testing.T) {
		product.Install(t, w.Cluster, "drain.onDelete=true")
		w.reached(t)
	})
	t.Run("with drain.onDelete an uninstall leaves a ledger and a bare mux", func(t *testing.T) { w.drains(t) })
	t.Run("a reinstall after that gives the same number, too", func(t *testing.T) {
		product.Install(t, w.Cluster)
		w.reached(t)
	})
	t.Run("Helm 4 takes a release over from Helm 3, uninstalls it, and installs another", func(t *testing.T) {
		w.withHelm4(t)
	})
}

// app is the app of the notes' channel.
const app = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "` + cluster.PodImage + `", args: [serve]}]
`

// followNotes runs the commands of the notes as printed.
func (w *world) followNotes(t *testing.T, notes string) {
	_, commands, _ := strings.Cut(notes, "\nNext, ")
	_, commands, _ = strings.Cut(commands, "\n\n")
	commands, _, found := strings.Cut(commands, "\n\nThen ")
	if !found || !strings.HasPrefix(commands, "kubectl get") {
		t.Fatalf("no commands in\n%s", notes)
	}
	said := w.shell(t, commands)
	for _, want := range []string{"203.0.113.", "Phase:          Succeeded", "service/web created"} {
		if !strings.Contains(said, want) {
			t.Errorf("the output lacks %q:\n%s", want, said)
		}
	}
}

// number is the number that the notes' channel gets and keeps.
const number = 20000

// reached checks that the channel web has its number on the mux, is programmed, and answers there.
func (w *world) reached(t *testing.T) {
	t.Helper()
	w.shell(t, "kubectl wait --for=condition="+prefix+"/Programmed service/web --timeout=60s")
	channel, mux := w.service(t, "default", "web"), w.service(t, product.Namespace, "mux")
	if want := fmt.Sprintf("http:80->%d", number); channel.Annotations[prefix+"/ports"] != want {
		t.Errorf("the channel's ports are %q, want %q", channel.Annotations[prefix+"/ports"], want)
	}
	if address(channel) == "" || address(channel) != address(mux) {
		t.Errorf("the channel shows %q, the mux %q", address(channel), address(mux))
	}
	w.answers(t, fmt.Sprintf("http://%s:%d", address(channel), number), "web")
}

// beside installs a second release of the same name in another namespace, with another prefix and without cert-manager.
func (w *world) beside(t *testing.T) {
	const namespace, other = "edge", "mux.example.com"
	w.namespace(t, namespace)
	release := product.Helm{Release: product.Release, Namespace: namespace,
		Values: []string{"api.prefix=" + other, "certs.mode=selfManaged"}}
	if _, err := release.Install(t.Context(), w.Cluster); err != nil {
		t.Fatal(err)
	}
	w.refuses(t, prefix)
	w.refuses(t, other)
	w.reached(t)
	if said := w.shell(t, "helm test svc-mux --logs --namespace="+namespace); !strings.Contains(said,
		"POD LOGS: svc-mux-test\nadmission is on guard") {
		t.Errorf("helm test --logs prints\n%s", said)
	}
	w.shell(t, "helm uninstall svc-mux --wait --namespace="+namespace+" && kubectl delete namespace "+namespace)
	w.refuses(t, prefix)
}

// leaves compares the present objects with those before the install.
func (w *world) leaves(t *testing.T, before []string, notes string) {
	product.Uninstall(t, w.Cluster)
	ledger := w.Kubectl(t, "get", "configmap", "--namespace="+product.Namespace,
		"--selector=app.kubernetes.io/component=mux-state", "--output=name")
	want := []string{
		"ConfigMap svc-mux/" + strings.TrimPrefix(strings.TrimSpace(ledger), "configmap/"),
		"Lease svc-mux/svc-mux", "Pod svc-mux/svc-mux-test", "Secret svc-mux/svc-mux-webhook-ca",
		"Secret svc-mux/svc-mux-webhook-tls", "Service default/web", "Service svc-mux/mux",
	}
	for _, object := range want {
		if _, name, _ := strings.Cut(object, "/"); !strings.Contains(notes, name) && !strings.HasPrefix(object, "ConfigMap") {
			t.Errorf("the notes don't say that %s stays", object)
		}
	}
	cluster.Eventually(t, "nothing else is left", func(context.Context) error {
		var left []string
		for _, object := range w.objects(t) {
			ofOurServices := strings.HasPrefix(object, "EndpointSlice svc-mux/mux") ||
				strings.HasPrefix(object, "EndpointSlice default/web") ||
				object == "Endpoints default/web"
			if !slices.Contains(before, object) && !ofOurServices {
				left = append(left, object)
			}
		}
		if diff := cmp.Diff(want, left); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
	if channel := w.service(t, "default", "web"); address(channel) == "" || len(channel.Finalizers) > 0 {
		t.Errorf("the channel's address is %q, its finalizers are %v", address(channel), channel.Finalizers)
	}
	w.Apply(t, channel("bad", prefix, "{port: 80}")) // no webhook denies it any more
	w.Kubectl(t, "delete", "service", "bad")
}

// drains uninstalls a release with drain.onDelete.
func (w *world) drains(t *testing.T) {
	begun := time.Now()
	product.Uninstall(t, w.Cluster)
	t.Logf("the uninstall took %s", time.Since(begun).Round(100*time.Millisecond))
	w.saidGoodbye(t)
}

func (w *world) saidGoodbye(t *testing.T) {
	t.Helper()
	channel, mux := w.service(t, "default", "web"), w.service(t, product.Namespace, "mux")
	if address(channel) != "" || len(channel.Status.Conditions) > 0 || channel.Annotations[prefix+"/ports"] != "" {
		t.Errorf("the channel still shows %v, %v", channel.Status, channel.Annotations)
	}
	if len(mux.Spec.Ports) != 1 || mux.Spec.Ports[0].Port != 101 {
		t.Errorf("the mux still has %v", mux.Spec.Ports)
	}
	for _, object := range w.objects(t) {
		if strings.Contains(object, "drain") || strings.HasPrefix(object, "EndpointSlice svc-mux/mux") {
			t.Errorf("%s still exists", object)
		}
	}
	w.Kubectl(t, "get", "configmap", "mux-port-allocations", "--namespace="+product.Namespace)
}
