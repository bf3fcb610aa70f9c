package admission

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/corpus"
	"nowake.ai/svc-lb-mux/test/product"
)

// The webhook's addresses on the control plane's machine.
const (
	reviewPort = "9443"
	healthPort = "8081"
)

// testBinary tests the webhook's program. The API server calls it, and the real kubectl sends the requests.
func testBinary(t *testing.T, w world) {
	w.namespace(t, team)
	hook := runWebhook(t, w, "webhook")
	t.Cleanup(func() { hook.stop(t) })
	cases, err := corpus.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range corpusNamespaces(cases) {
		w.namespace(t, name)
	}
	t.Run("the corpus through kubectl", func(t *testing.T) { kubectlCorpus(t, w, cases) })
	t.Run("each problem is a cause, with its field", func(t *testing.T) { causes(t, w, cases) })
	t.Run("a change passes if its problems were there before", func(t *testing.T) { ratchet(t, w, cases) })
	t.Run("a Service that was bad before can be labelled, edited and deleted", func(t *testing.T) { badAlready(t, w) })
	t.Run("kubectl patch, edit and replace are refused with our message", func(t *testing.T) { refusedInWords(t, w) })
	t.Run("a refused change does not cost the live Service", func(t *testing.T) { survivesForce(t, w) })
	t.Run("what a route asks for", func(t *testing.T) { judgesRoutes(t, w) })
	t.Run("odd and hostile bodies", func(t *testing.T) { hostileBodies(t, w, hook.ca) })
	t.Run("metrics count the verdicts", func(t *testing.T) { counted(t, w) })
	t.Run("during an outage a new channel is refused with a clear message", func(t *testing.T) { clearlyDown(t, w, hook) })
}

// process is the webhook's process, and the CA that its clients trust.
type process struct {
	*cluster.Component
	ca string // PEM
}

// runWebhook starts the webhook under a name, with flags in addition to the required ones.
func runWebhook(t *testing.T, w world, name string, flags ...string) process {
	t.Helper()
	dir := t.TempDir()
	certificate, ca := selfSigned(t, webhookName+"."+namespace+".svc")
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "tls.crt"), []byte(ca))
	write(t, filepath.Join(dir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	component, err := w.Add(name, product.BuildForTest(t, "webhook"),
		append(flags, "--cert-dir="+dir, "--default-mux-namespace="+corpus.MuxNamespace,
			"--address=:"+reviewPort, "--probe-address=:"+healthPort, "--drain-delay=0s")...)
	if err != nil {
		t.Fatal(err)
	}
	w.Apply(t, endpoints(t, w))
	w.Apply(t, patient(w.render(t, "webhook-configuration.yaml", append(trusting(ca), "gatewayApi.allocator=true")...)))
	cluster.Eventually(t, "the API server asks the webhook", func(ctx context.Context) error {
		_, err := w.user.CoreV1().Services(team).Create(ctx, channel("probe", "http:nonsense"), dryRun())
		if err == nil || !strings.Contains(err.Error(), "nonsense") {
			return fmt.Errorf("the webhook's answer: %w", err)
		}
		return nil
	})
	return process{component, ca}
}

// stop ends the process, so that another one can use its ports.
func (p process) stop(t *testing.T) {
	t.Helper()
	if err := p.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func dryRun() metav1.CreateOptions { return metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}} }

// channel returns a channel that asks for the given public ports.
func channel(name, externalPorts string) *corev1.Service {
	class, no := prefix+"/mux", false
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: team,
			Annotations: map[string]string{prefix + "/external-ports": externalPorts}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class,
			AllocateLoadBalancerNodePorts: &no, Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
}

func corpusNamespaces(cases []corpus.Case) []string {
	names := []string{team}
	for _, c := range cases {
		names = append(names, c.Service.Namespace)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// said returns the causes of a refusal in the notation of the corpus.
func said(err error) []string {
	var all []string
	if status, ok := err.(apierrors.APIStatus); ok && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			all = append(all, string(cause.Type)+" @ "+cause.Field)
		}
	}
	slices.Sort(all)
	return all
}

func expected(list []corpus.Expect) []string {
	var all []string
	for _, e := range list {
		all = append(all, e.String())
	}
	slices.Sort(all)
	return all
}

func causes(t *testing.T, w world, cases []corpus.Case) {
	for _, c := range cases {
		if c.Impossible || c.Old != nil {
			continue
		}
		_, err := w.user.CoreV1().Services(c.Service.Namespace).Create(t.Context(), fresh(c.Service), dryRun())
		if (err != nil) != (len(c.Deny) > 0) {
			t.Errorf("%s: %v", c.Name(), err)
		}
		if got, want := said(err), expected(c.Deny); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", c.Name(), got, want)
		}
	}
}

// fresh returns a Service as a user sends it: without the fields of a stored object.
func fresh(service *corev1.Service) *corev1.Service {
	again := service.DeepCopy()
	again.ResourceVersion, again.UID = "", ""
	return again
}

// ratchet creates the old Service as the reconciler, whose requests aren't reviewed, and changes it as a user.
func ratchet(t *testing.T, w world, cases []corpus.Case) {
	count := 0
	for _, c := range cases {
		if c.Impossible || c.Old == nil {
			continue
		}
		count++
		services := w.reconciler.CoreV1().Services(c.Old.Namespace)
		if err := services.Delete(t.Context(), c.Old.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		old, err := services.Create(t.Context(), fresh(c.Old), metav1.CreateOptions{})
		if err != nil {
			t.Errorf("%s: creating the old Service: %v", c.Name(), err)
			continue
		}
		changed := c.Service.DeepCopy()
		changed.ResourceVersion, changed.UID = old.ResourceVersion, ""
		changed.Spec.ClusterIP, changed.Spec.ClusterIPs = old.Spec.ClusterIP, old.Spec.ClusterIPs
		_, err = w.user.CoreV1().Services(c.Old.Namespace).Update(t.Context(), changed, metav1.UpdateOptions{})
		if got, want := said(err), expected(c.Deny); (err != nil) != (len(want) > 0) || !slices.Equal(got, want) {
			t.Errorf("%s: got %v (%v), want %v", c.Name(), got, err, want)
		}
		if err := services.Delete(t.Context(), old.Name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("%s: %v", c.Name(), err)
		}
	}
	if count < 20 {
		t.Errorf("only %d changes: the corpus has more", count)
	}
}

func clearlyDown(t *testing.T, w world, hook process) {
	if err := hook.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(channel("late", "http:8080"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.TryKubectl(t.Context(), string(data), "apply", "-f", "-")
	if err == nil || !strings.Contains(out.Stderr, `failed calling webhook "change.services.`+prefix) {
		t.Errorf("with the webhook down: %v %s", err, out.Stderr)
	}
	w.Kubectl(t, "create", "service", "clusterip", "stranger", "--tcp=80", "--namespace="+team)
	if err := hook.Start(); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the webhook is up again and admits channels", func(ctx context.Context) error {
		_, err := w.user.CoreV1().Services(team).Create(ctx, channel("late", "http:8080"), metav1.CreateOptions{})
		return err
	})
}
