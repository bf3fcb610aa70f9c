package restraint

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// world is the cluster that all tests of the package share.
type world struct {
	*cluster.Cluster
	clients sync.Map // release to kubernetes.Interface

	mu      sync.Mutex
	refused map[string]bool // messages of denials
}

// attempt is a dry-run request, so attempts don't depend on each other.
type attempt struct {
	as   string // a release; usual if there is none
	do   string // method and path
	body string // YAML; a patch is a JSON merge patch
	// want is a part of the denial's message. It is empty for requests that must be allowed.
	want string
}

// try sends abuses, which must be denied, and uses, which must be allowed.
func (w *world) try(t *testing.T, abuses, uses map[string]attempt) {
	for name, tried := range abuses {
		t.Run("refused: "+name, func(t *testing.T) {
			err := w.send(t.Context(), tried)
			if err == nil {
				t.Fatal("the request was allowed")
			}
			w.mu.Lock()
			w.refused[err.Error()] = true
			w.mu.Unlock()
			if !strings.Contains(err.Error(), "ValidatingAdmissionPolicy") || tried.want == "" ||
				!strings.Contains(err.Error(), tried.want) {
				t.Errorf("denied with %q, want a policy's message %q", err, tried.want)
			}
		})
	}
	for name, tried := range uses {
		t.Run("allowed: "+name, func(t *testing.T) {
			if err := w.send(t.Context(), tried); err != nil {
				t.Error(err)
			}
		})
	}
}

func (w *world) send(ctx context.Context, a attempt) error {
	method, path, _ := strings.Cut(a.do, " ")
	if a.as == "" {
		a.as = usual
	}
	client, _ := w.clients.Load(a.as)
	request := client.(kubernetes.Interface).CoreV1().RESTClient().Verb(method).AbsPath(path).Param("dryRun", "All")
	if a.body != "" {
		body, err := yaml.YAMLToJSON([]byte(a.body))
		if err != nil {
			return err
		}
		request = request.Body(body).SetHeader("Content-Type", "application/json")
	}
	if method == "PATCH" {
		request = request.SetHeader("Content-Type", string(types.MergePatchType))
	}
	return request.Do(ctx).Error()
}

// install applies the roles and policies of a release, and creates a client with its ServiceAccount's token.
func (w *world) install(t *testing.T, release string, set []string) {
	t.Helper()
	w.Apply(t, w.render(t, release, set, "reconciler-roles.yaml", "reconciler-policy.yaml"))
	accounts := w.Client.CoreV1().ServiceAccounts(namespace)
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: release}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := accounts.CreateToken(t.Context(), release, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(w.Config)
	config.BearerToken, config.QPS = token.Status.Token, -1
	config.WarningHandler = rest.NoWarnings{}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w.clients.Store(release, client)
}

// render returns rendered templates of the chart.
func (w *world) render(t *testing.T, release string, set []string, templates ...string) string {
	t.Helper()
	args := []string{"template", release, chartOf(t), "--namespace", namespace}
	for _, template := range templates {
		args = append(args, "--show-only", "templates/"+template)
	}
	for _, value := range set {
		args = append(args, "--set", value)
	}
	return w.Helm(t, args...)
}

func chartOf(t *testing.T) string {
	t.Helper()
	chart, err := filepath.Abs(filepath.Join("..", "..", "..", "charts", "svc-lb-mux"))
	if err != nil {
		t.Fatal(err)
	}
	return chart
}

// othersAreLeftAlone sends, as the administrator, requests that the reconciler may not send.
func othersAreLeftAlone(t *testing.T, w *world) {
	config := rest.CopyConfig(w.Config)
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w.clients.Store("administrator", client)
	for _, abuses := range []map[string]attempt{serviceAbuses(), sliceAbuses(), ledgerAbuses(), endpointsAbuses(),
		certificateAbuses(), eventAbuses(), leaseAbuses()} {
		for name, tried := range abuses {
			tried.as = "administrator"
			if err := w.send(t.Context(), tried); err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// neverFailed reads the API server's metrics of expressions that were too expensive or couldn't be compiled.
func neverFailed(t *testing.T, w *world) {
	all, err := w.Client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(all), "apiserver_validating_admission_policy_check_total{") {
		t.Fatal("the API server has no such metrics")
	}
	failed := regexp.MustCompile(
		`(?m)^apiserver_validating_admission_policy_check_total\{.*error_type="(out_of_budget|compile_error)".*$`)
	for _, line := range failed.FindAllString(string(all), -1) {
		t.Errorf("the API server counts failures: %s", line)
	}
	for said := range w.refused {
		if strings.Contains(said, "expression '") {
			t.Errorf("an expression failed, or has an empty message: %s", said)
		}
	}
}
