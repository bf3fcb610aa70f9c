package install

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/test/cluster/binaries"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/long"
	"nowake.ai/svc-lb-mux/test/product"
)

// TestBothHelms installs, upgrades, rolls back and uninstalls a release with Helm 3, which patches, and with Helm 4,
// which uses server-side apply. No pods run here.
func TestBothHelms(t *testing.T) {
	long.Only(t, "TestInstall goes from Helm 3 to Helm 4")
	bin, err := cluster.Binaries(t.Context(), binaries.Helm3(), binaries.Helm4())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{cluster.Start(t, cluster.APIServerOnly())}
	for tool, name := range map[string]string{"helm3": "helm", "helm4": "helm4"} {
		t.Run(tool, func(t *testing.T) { w.lives(t, filepath.Join(bin[tool], name), tool) })
	}
}

// withHelm4 changes a release with real pods from Helm 3 to Helm 4, as users do.
func (w *world) withHelm4(t *testing.T) {
	bin, err := cluster.Binaries(t.Context(), binaries.Helm4())
	if err != nil {
		t.Fatal(err)
	}
	helm := product.Helm{Program: filepath.Join(bin["helm4"], "helm4"), Release: product.Release,
		Namespace: product.Namespace,
		Values:    []string{"drain.onDelete=true"}, Validated: true}
	for _, what := range []string{"takes over", "installs"} {
		if _, err := helm.Install(t.Context(), w.Cluster); err != nil {
			t.Fatalf("Helm 4 %s: %v", what, err)
		}
		w.reached(t)
		w.refuses(t, prefix)
		in := " svc-mux --namespace=" + product.Namespace
		if said := w.shell(t, helm.Program+" test --logs"+in); !strings.Contains(said, "admission is on guard") {
			t.Errorf("helm test --logs prints\n%s", said)
		}
		begun := time.Now()
		w.shell(t, helm.Program+" uninstall --wait --timeout=120s"+in)
		t.Logf("Helm 4 %s, and its uninstall took %s", what, time.Since(begun).Round(100*time.Millisecond))
		w.saidGoodbye(t)
	}
}

// lives uses a mux without a placeholder. An upgrade must not add the placeholder again, not even for a moment: a
// provider might have no room for one more port, or might not mix it with UDP. No webhook runs here, so every change of
// a mux is refused. Therefore no upgrade may change the mux: upgrades must work while the webhook is down.
func (w *world) lives(t *testing.T, helm, namespace string) {
	chart, err := product.Chart()
	if err != nil {
		t.Fatal(err)
	}
	upgrade := fmt.Sprintf(
		`%s upgrade --install svc-mux %s --namespace=%s --create-namespace --set=certs.mode=selfManaged \
		--set='defaultLoadBalancer.annotations.svc-mux\.nowake\.ai/placeholder=remove' `, helm, chart, namespace)
	w.shell(t, upgrade+"--set=webhook.replicas=1")
	w.hasPorts(t, namespace, "101/TCP")

	asReconciler := "kubectl patch service mux --namespace=" + namespace + " --as=system:serviceaccount:" + namespace +
		":svc-mux --type=merge --patch "
	w.shell(t, asReconciler+`'{"spec":{"ports":[{"name":"a","port":20000},{"name":"b","port":20001,"protocol":"UDP"}]}}'`)
	for _, command := range []string{upgrade + "--set=webhook.replicas=2", upgrade + "--set=webhook.replicas=3",
		fmt.Sprintf("%s rollback svc-mux 2 --namespace=%s", helm, namespace)} {
		w.shell(t, command)
		w.hasPorts(t, namespace, "20000/TCP", "20001/UDP")
	}
	if n := w.Kubectl(t, "get", "deployment", "svc-mux-webhook", "--namespace="+namespace,
		"--output=jsonpath={.spec.replicas}"); n != "2" {
		t.Errorf("after the rollback the Deployment has %s replicas", n)
	}

	w.shell(t, fmt.Sprintf("%s uninstall svc-mux --namespace=%s", helm, namespace))
	w.hasPorts(t, namespace, "20000/TCP", "20001/UDP")
	if left := w.Kubectl(t, "get", "deployments,roles,serviceaccounts,validatingwebhookconfigurations",
		"--namespace="+namespace,
		"--selector=app.kubernetes.io/instance=svc-mux", "--output=name"); left != "" {
		t.Errorf("the uninstall leaves: %s", left)
	}
}

func (w *world) hasPorts(t *testing.T, namespace string, want ...string) {
	t.Helper()
	var got []string
	for _, port := range w.service(t, namespace, "mux").Spec.Ports {
		got = append(got, fmt.Sprintf("%d/%s", port.Port, port.Protocol))
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the mux has %v, want %v", got, want)
	}
}
