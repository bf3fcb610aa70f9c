package admission

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// serviceAccount creates the webhook's ServiceAccount, and returns a kubeconfig for it.
func serviceAccount(t *testing.T, w world) string {
	t.Helper()
	w.Kubectl(t, "create", "serviceaccount", webhookName, "--namespace="+namespace)
	token := strings.TrimSpace(w.Kubectl(t, "create", "token", webhookName, "--namespace="+namespace))
	config := map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "here",
		"clusters": []any{map[string]any{"name": "here", "cluster": map[string]any{
			"server": w.Config.Host, "certificate-authority": w.Config.CAFile,
		}}},
		"users":    []any{map[string]any{"name": "webhook", "user": map[string]any{"token": token}}},
		"contexts": []any{map[string]any{"name": "here", "context": map[string]any{"cluster": "here", "user": "webhook"}}},
	}
	data, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	write(t, path, data)
	return path
}

// requestsOfWebhook counts the webhook's requests to the API server, such as "watch services".
func requestsOfWebhook(t *testing.T, w world) map[string]int {
	t.Helper()
	events, err := w.Audited()
	if err != nil {
		t.Fatal(err)
	}
	requests := map[string]int{}
	for i := range events {
		event := &events[i]
		if event.User.Username == "system:serviceaccount:"+namespace+":"+webhookName ||
			strings.HasPrefix(event.UserAgent, "svc-lb-mux-webhook/") {
			requests[event.Verb+" "+event.ObjectRef.Resource]++
		}
	}
	return requests
}

func metricsOf(t *testing.T, w world) string {
	t.Helper()
	text, err := fetch(t.Context(), w, "http://"+machine(t, w)+":"+healthPort+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func awaitPredictions(t *testing.T, w world) {
	t.Helper()
	cluster.Eventually(t, "Services are known", func(ctx context.Context) error {
		text, err := fetch(ctx, w, "http://"+machine(t, w)+":"+healthPort+"/metrics")
		if err == nil && !strings.Contains(text, "svc_lb_mux_admission_predictions_ready 1") {
			err = fmt.Errorf("the metric doesn't show that predictions are ready")
		}
		return err
	})
}

const dryRunFlag = "--dry-run=server"

// expectWarnings runs kubectl, which must succeed, and compares the printed warnings. The webhook's cache may be stale,
// so a dry run comes first. It is repeated after a wrong answer.
func expectWarnings(t *testing.T, w world, stdin string, want []string, args ...string) {
	t.Helper()
	dry := args
	if !slices.Contains(args, dryRunFlag) {
		dry = slices.Insert(slices.Clone(args), 1, dryRunFlag)
	}
	cluster.Eventually(t, "kubectl warns", func(ctx context.Context) error {
		said, err := warnings(ctx, w, stdin, dry...)
		if err == nil && !slices.Equal(said, want) {
			err = fmt.Errorf("kubectl %s warns\n%q, want\n%q", strings.Join(dry, " "), said, want)
		}
		return err
	})
	if len(dry) > len(args) {
		expectWarningsAtOnce(t, w, stdin, want, args...)
	}
}

// expectWarningsAtOnce is expectWarnings without a dry run, for requests that were tried already. If the webhook has no
// time for a prediction, it allows the request without warnings, and a metric counts it. Any other difference fails the
// test.
func expectWarningsAtOnce(t *testing.T, w world, stdin string, want []string, args ...string) {
	t.Helper()
	before := skipped(t, w)
	said, err := warnings(t.Context(), w, stdin, args...)
	switch {
	case err != nil:
		t.Error(err)
	case slices.Equal(said, want):
	case !slices.ContainsFunc(said, func(s string) bool { return !slices.Contains(want, s) }) && skipped(t, w) > before:
		t.Logf("NOT COVERED, because the webhook had no time for a prediction: kubectl %s", strings.Join(args, " "))
	default:
		t.Errorf("kubectl %s warns\n%q, want\n%q", strings.Join(args, " "), said, want)
	}
}

// warnings runs kubectl, and returns the warnings.
func warnings(ctx context.Context, w world, stdin string, args ...string) (said []string, err error) {
	out, err := w.TryKubectl(ctx, stdin, args...)
	for line := range strings.Lines(out.Stderr) {
		if text, warned := strings.CutPrefix(strings.TrimSpace(line), "Warning: "); warned {
			said = append(said, text)
		}
	}
	return said, err
}

// skipped returns the number of predictions for which the webhook had no time, from its metrics. It returns 0 if they
// can't be read.
func skipped(t *testing.T, w world) (count float64) {
	t.Helper()
	text, err := fetch(t.Context(), w, "http://"+machine(t, w)+":"+healthPort+"/metrics")
	if err != nil {
		return 0
	}
	_, after, found := strings.Cut(text, `svc_lb_mux_admission_predictions_skipped_total{why="busy"} `)
	if !found {
		return 0
	}
	line, _, _ := strings.Cut(after, "\n")
	if count, err = strconv.ParseFloat(line, 64); err != nil {
		t.Fatalf("the metric of skipped predictions is %q: %v", line, err)
	}
	return count
}

// manifest returns a channel with one port, such as http:8080, and annotations of ours.
func manifest(namespace, name, mux, port string, annotations ...string) string {
	portName, number, _ := strings.Cut(port, ":")
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: v1\nkind: Service\nmetadata:\n  name: %s\n  namespace: %s\n  annotations:\n    "+
		"example.com/by: hand\n",
		name, namespace)
	for i := 0; i+1 < len(annotations); i += 2 {
		key := annotations[i]
		if !strings.Contains(key, "/") {
			key = prefix + "/" + key
		}
		fmt.Fprintf(&b, "    %s: %q\n", key, annotations[i+1])
	}
	fmt.Fprintf(&b, "spec:\n  type: LoadBalancer\n  loadBalancerClass: %s/%s\n  allocateLoadBalancerNodePorts: false\n"+
		"  ports: [{name: %s, port: %s}]\n", prefix, mux, portName, number)
	return b.String()
}

func muxManifest(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata:\n  name: %s\n  namespace: %s\n  annotations: "+
		"{%s/multiplexer: \"true\"}\nspec:\n  type: LoadBalancer\n  allocateLoadBalancerNodePorts: false\n  ports: [{name: "+
		"placeholder, port: 101}]\n", name, namespace, prefix)
}

// port returns the port that the reconciler puts on a mux for a channel's port.
func port(namespace, channel, name string, number int32) corev1.ServicePort {
	sum := sha256.Sum256([]byte(namespace + "/" + channel + "/" + name))
	return corev1.ServicePort{Name: hex.EncodeToString(sum[:])[:20], Port: number, Protocol: corev1.ProtocolTCP}
}

// giveMux creates a mux with channels' ports, as the reconciler.
func giveMux(t *testing.T, w world, name string, annotations map[string]string, ports ...corev1.ServicePort) {
	t.Helper()
	svc := aMux(name)
	svc.Namespace = namespace
	for key, value := range annotations {
		svc.Annotations[prefix+"/"+key] = value
	}
	svc.Spec.Ports = append([]corev1.ServicePort{{Name: "placeholder", Port: 101}}, ports...)
	if _, err := w.reconciler.CoreV1().Services(namespace).Create(t.Context(), svc, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func gone(t *testing.T, w world, namespace, name string) {
	t.Helper()
	if _, err := w.user.CoreV1().Services(namespace).
		Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("%s still exists: %v", name, err)
	}
}
