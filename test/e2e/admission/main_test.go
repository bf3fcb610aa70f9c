// Package admission holds the chart's admission to its word in a real API server: the ValidatingAdmissionPolicy says what
// package validation says, and the webhook is asked about muxes and channels alone.
package admission

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

const (
	release   = "svc-mux"
	namespace = "svc-mux"
	prefix    = "svc-mux.nowake.ai"
	// clusterName is what the chart calls its objects outside of the namespace.
	clusterName = release + "." + namespace
	// reconciler is who the chart takes for ours. Nothing judges it, so tests use it to make Services that are bad
	// already.
	reconciler = "system:serviceaccount:" + namespace + ":" + release
)

func TestMain(m *testing.M) { cluster.Main(m) }

// world is the cluster that all tests of the package share.
type world struct {
	*cluster.Cluster
	user, reconciler kubernetes.Interface
}

func TestAdmission(t *testing.T) {
	w := start(t)
	// The policy first: it would stand between the other parts' Services and the webhook.
	t.Run("policy", func(t *testing.T) { testPolicy(t, w) })
	t.Run("webhook", func(t *testing.T) { testWebhook(t, w) })
	t.Run("binary", func(t *testing.T) { testBinary(t, w) })
	t.Run("predictions", func(t *testing.T) { testPredictions(t, w) })
}

func start(t *testing.T) world { return startWith(t, cluster.Audit()) }

func startWith(t *testing.T, options ...cluster.Option) world {
	w := world{Cluster: cluster.Start(t, append(options, cluster.Helm())...)}
	w.user = w.client(t, "")
	w.reconciler = w.client(t, reconciler)
	w.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reconciler-may-do-anything}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, namespace: `+namespace+`, name: `+release+`}]
`)
	w.namespace(t, namespace)
	return w
}

// client is the administrator's, or somebody else's; it passes warnings to who asks for them with listen.
func (w world) client(t *testing.T, as string) kubernetes.Interface {
	t.Helper()
	config := rest.CopyConfig(w.Config)
	config.Impersonate.UserName = as
	config.WarningHandlerWithContext = hearing{}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (w world) namespace(t *testing.T, name string) {
	t.Helper()
	_, err := w.user.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// render returns one of the chart's templates as Helm fills it in.
func (w world) render(t *testing.T, template string, set ...string) string {
	t.Helper()
	text, err := w.tryRender(t, template, set...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (w world) tryRender(t *testing.T, template string, set ...string) (string, error) {
	t.Helper()
	chart, err := filepath.Abs(filepath.Join("..", "..", "..", "charts", "svc-lb-mux"))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"template", release, chart, "--namespace", namespace, "--show-only", "templates/" + template}
	for _, value := range set {
		args = append(args, "--set", value)
	}
	out, err := w.TryHelm(t.Context(), args...)
	return out.Stdout, err
}

// trusting is what the chart is told of a certificate that somebody else made.
func trusting(ca string) []string {
	return []string{"certs.mode=provided", "certs.provided.secretName=ours", "certs.provided.caBundle=" + ca}
}

// patient has the API server wait for an answer for as long as it can: tests here are about what is asked and answered, also on
// a machine that is busy with something else.
func patient(configuration string) string {
	return regexp.MustCompile(`timeoutSeconds: \d+`).ReplaceAllString(configuration, "timeoutSeconds: 30")
}

// hearing hands each of a response's warnings to the listener in its context.
type hearing struct{}

type listener struct {
	mu    sync.Mutex
	heard []string
}

type listenerKey struct{}

func listen(ctx context.Context) (context.Context, *listener) {
	l := &listener{}
	return context.WithValue(ctx, listenerKey{}, l), l
}

func (hearing) HandleWarningHeaderWithContext(ctx context.Context, _ int, _, text string) {
	if l, listening := ctx.Value(listenerKey{}).(*listener); listening {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.heard = append(l.heard, text)
	}
}

// deniedByPolicy is true for the policy's word, and false for Kubernetes' own.
func deniedByPolicy(err error) bool {
	return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
}
