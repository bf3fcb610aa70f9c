// Package install tests the product as users get it. The real helm installs it on a real node, with the real
// cert-manager, in a namespace that allows only restricted pods.
package install

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

const prefix = "svc-mux.nowake.ai"

func TestMain(m *testing.M) { cluster.Main(m) }

// world is a cluster with the product's images.
type world struct {
	*cluster.Cluster
}

func start(t *testing.T) *world {
	t.Helper()
	w := &world{cluster.Start(t, cluster.Nodes(1, product.Archives(t)...), cluster.CertManager(), cluster.WithProvider())}
	w.namespace(t, product.Namespace)
	return w
}

// namespace creates a namespace that allows only restricted pods.
func (w *world) namespace(t *testing.T, name string) {
	t.Helper()
	_, err := w.Client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// shell runs commands as a person would type them, with kubectl and helm in PATH.
func (w *world) shell(t *testing.T, commands string) string {
	t.Helper()
	out, err := w.Run(t.Context(), cluster.Program{Args: []string{"/bin/sh", "-euc", commands}})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.Stdout)
	}
	return out.Stdout
}

// objects returns all objects as "kind namespace/name", without Events and the IPAddresses of Services.
func (w *world) objects(t *testing.T) []string {
	t.Helper()
	var kinds []string
	for kind := range strings.FieldsSeq(w.Kubectl(t, "api-resources", "--verbs=list", "--output=name")) {
		if !strings.HasPrefix(kind, "events") && !strings.HasPrefix(kind, "ipaddresses") {
			kinds = append(kinds, kind)
		}
	}
	const columns = "custom-columns=KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name"
	var objects []string
	for line := range strings.Lines(w.Kubectl(t, "get", strings.Join(kinds, ","), "--all-namespaces", "--no-headers",
		"--output="+columns)) {
		words := strings.Fields(line)
		objects = append(objects, strings.TrimPrefix(fmt.Sprintf("%s %s/%s", words[0], words[1], words[2]), "<none>/"))
	}
	slices.Sort(objects)
	return objects
}

func (w *world) service(t *testing.T, namespace, name string) *corev1.Service {
	t.Helper()
	svc, err := w.Client.CoreV1().Services(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

func address(svc *corev1.Service) string {
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		return ingress.IP
	}
	return ""
}

// refuses checks that the webhook denies a channel without a port name. Classes with another release's prefix aren't
// reviewed.
func (w *world) refuses(t *testing.T, prefix string) {
	t.Helper()
	bad := channel("bad", prefix, "{port: 80}")
	out, err := w.TryKubectl(t.Context(), bad, "apply", "--filename=-")
	if err == nil || !strings.Contains(out.Stderr, "has no name: give it one") {
		t.Errorf("a port without a name: %v, %s", err, out.Stdout)
	}
}

func channel(name, prefix, port string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: %s}, spec: {type: LoadBalancer,
		loadBalancerClass: %s/mux, allocateLoadBalancerNodePorts: false, selector: {app: %[1]s},
			ports: [%[3]s]}}`, name, prefix, port)
}

// answers waits until a pod of an app answers a name from outside.
func (w *world) answers(t *testing.T, url, app string) {
	t.Helper()
	client := w.Outside().HTTP()
	cluster.Eventually(t, url+" is answered by "+app, func(ctx context.Context) error {
		said, err := get(ctx, client, url)
		if err == nil && !strings.HasPrefix(said, app+"-") {
			err = fmt.Errorf("%q answers", said)
		}
		return err
	})
}
