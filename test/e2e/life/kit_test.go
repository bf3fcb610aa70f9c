// Package life tests the life of releases. They are installed too early, upgraded from the Python original, restarted
// under load, run side by side, and are uninstalled in every order. Everything runs on one node, with the real helm,
// cert-manager and kubelet.
package life

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

const (
	prefix = "svc-mux.nowake.ai"
	// shop is the namespace of the users' Services.
	shop = "shop"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// world is a cluster with the product's images, and an app.
type world struct {
	*cluster.Cluster
}

func start(t *testing.T) *world {
	t.Helper()
	w := &world{cluster.Start(t, cluster.IPTables(), cluster.Nodes(1, product.Archives(t)...), cluster.CertManager(),
		cluster.WithProvider())}
	t.Cleanup(func() { w.logs(t) })
	w.namespace(t, shop)
	w.Apply(t, app)
	w.Kubectl(t, "rollout", "status", "deployment/web", "--namespace="+shop, "--timeout=60s")
	return w
}

// logs prints the pods' logs if the test failed.
func (w *world) logs(t *testing.T) {
	if !t.Failed() {
		return
	}
	for _, selector := range []string{"app.kubernetes.io/name=svc-mux", "app.kubernetes.io/name=svc-mux-webhook"} {
		out, err := w.TryKubectl(context.WithoutCancel(t.Context()), "", "logs", "--namespace="+product.Namespace,
			"--selector="+selector,
			"--prefix", "--tail=30")
		t.Logf("%s %v", out.Stdout, err)
	}
}

// app is the app behind the channels.
const app = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: ` + shop + `}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "` + cluster.PodImage + `", args: [serve]}]
`

func (w *world) namespace(t *testing.T, name string) {
	t.Helper()
	_, err := w.Client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// install installs or upgrades a release, and fails the test on an error.
func (w *world) install(t *testing.T, release product.Helm) string {
	t.Helper()
	begin := time.Now()
	said, err := release.Install(t.Context(), w.Cluster)
	if err != nil {
		left, _ := w.TryKubectl(t.Context(), "", "get", "certificates,certificaterequests,issuers,secrets,pods,events",
			"--namespace="+cmp.Or(release.Namespace, product.Namespace), "--output=wide")
		t.Fatalf("%v\nthe namespace has:\n%s", err, left)
	}
	t.Logf("helm upgrade --install %s took %s", release.Release, time.Since(begin).Round(time.Second))
	return said
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// channel returns a channel of the app with one port.
func channel(name, class, external string) string {
	return fmt.Sprintf(
		`{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: %s, annotations: {%s/external-ports: "http:%s"}},
		spec: {type: LoadBalancer, loadBalancerClass: %s, allocateLoadBalancerNodePorts: false, selector: {app: web},
		ports: [{name: http, port: 80, targetPort: 8080}]}}`, name, shop, strings.Split(class, "/")[0], external, class)
}

// tryBad creates a channel without a port name as a dry run: a release must deny it.
func (w *world) tryBad(t *testing.T, class string) (cluster.Output, error) {
	t.Helper()
	bad := strings.Replace(channel("bad", class, "80"), "name: http, ", "", 1)
	return w.TryKubectl(t.Context(), bad, "create", "--dry-run=server", "--filename=-")
}

// refuses checks that a bad channel is denied at once: admission is on guard.
func (w *world) refuses(t *testing.T, class string) {
	t.Helper()
	if out, err := w.tryBad(t, class); err == nil || !strings.Contains(out.Stderr, "has no name: give it one") {
		t.Errorf("a bad channel of %s isn't denied with our message: %v %s", class, err, out.Stdout)
	}
}

// takes checks that a bad channel is allowed: no webhook reviews it.
func (w *world) takes(t *testing.T, class string) {
	t.Helper()
	if _, err := w.tryBad(t, class); err != nil {
		t.Errorf("a channel of %s is denied: %v", class, err)
	}
}

func (w *world) service(t *testing.T, namespace, name string) *corev1.Service {
	t.Helper()
	svc, err := w.Client.CoreV1().Services(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

// address waits for a Service's address, and returns it.
func (w *world) address(t *testing.T, namespace, name string) (ip string) {
	t.Helper()
	cluster.Eventually(t, namespace+"/"+name+" has an address", func(context.Context) error {
		for _, ingress := range w.service(t, namespace, name).Status.LoadBalancer.Ingress {
			ip = ingress.IP
			return nil
		}
		return fmt.Errorf("no address yet")
	})
	return ip
}

// gets waits until a channel has exactly these ports: "http:80->20000".
func (w *world) gets(t *testing.T, name, ports string) {
	t.Helper()
	cluster.Eventually(t, name+" has "+ports, func(context.Context) error {
		svc := w.service(t, shop, name)
		if got := svc.Annotations[keyOf(svc, "ports")]; got != ports {
			return fmt.Errorf("the channel has %q, and the conditions %v", got, svc.Status.Conditions)
		}
		return programmed(svc)
	})
}

func keyOf(svc *corev1.Service, name string) string {
	own, _, _ := strings.Cut(*svc.Spec.LoadBalancerClass, "/")
	return own + "/" + name
}

func programmed(svc *corev1.Service) error {
	for _, condition := range svc.Status.Conditions {
		if condition.Type == keyOf(svc, "Programmed") && condition.Status == metav1.ConditionTrue &&
			len(svc.Status.LoadBalancer.Ingress) > 0 {
			return nil
		}
	}
	return fmt.Errorf("the channel isn't programmed: %v", svc.Status)
}
