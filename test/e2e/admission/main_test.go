// Package admission tests the chart's admission with a real API server. The ValidatingAdmissionPolicy must agree with
// package validation, and the API server must call the webhook only for muxes and channels.
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
	// clusterName is the name of the chart's cluster-scoped objects.
	clusterName = release + "." + namespace
	// reconciler is the chart's reconciler. Its requests aren't reviewed, so tests use it to create Services that are
	// bad before a change.
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
	// The policy runs first: later it would deny Services before the webhook sees them.
	t.Run("policy", func(t *testing.T) { testPolicy(t, w) })
	t.Run("policy of routes", func(t *testing.T) { testRoutesPolicy(t, w) })
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

// client returns a client of the administrator or of another user. It passes warnings to the listener in the context.
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

// render returns a rendered template of the chart.
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

// trusting returns the chart's values for a provided certificate with this CA.
func trusting(ca string) []string {
	return []string{"certs.mode=provided", "certs.provided.secretName=ours", "certs.provided.caBundle=" + ca}
}

// patient lets the API server wait for an answer as long as possible: these tests must also pass on a busy machine.
func patient(configuration string) string {
	return regexp.MustCompile(`timeoutSeconds: \d+`).ReplaceAllString(configuration, "timeoutSeconds: 30")
}

// hearing passes each warning of a response to the listener in its context.
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

// deniedByPolicy returns true for denials by the policy, and false for Kubernetes' own errors.
func deniedByPolicy(err error) bool {
	return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
}
