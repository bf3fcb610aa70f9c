package console

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// TestAccess tests consoles that restrict access, one after the other on one cluster.
func TestAccess(t *testing.T) {
	t.Parallel()
	w := start(t, cluster.Helm())
	t.Run("the API server reviews tokens", w.testReviews)
	t.Run("over TLS", w.testTLS)
	t.Run("a token is required", w.testToken)
}

// testReviews sends tokens of ServiceAccounts to a console that has only the rights of the chart's template.
func (w *world) testReviews(t *testing.T) {
	roles := w.Helm(t, "template", "svc-mux", chart(t), "--namespace", muxNamespace, "--set",
		"debugWeb.auth.mode=kubernetes",
		"--show-only", "templates/console-roles.yaml", "--show-only", "templates/reconciler-roles.yaml")
	if _, err := w.TryKubectl(t.Context(), roles, "apply", "--namespace", muxNamespace, "-f", "-"); err != nil {
		t.Fatal(err)
	}
	own := w.token(t, "svc-mux")
	r := w.reconcile(t, func(p *run.Process) {
		p.Config = rest.AnonymousClientConfig(p.Config)
		p.Config.BearerToken = own
		p.Options.ConsoleAuth, p.Options.ConsoleActions, p.Options.LeaseName = "kubernetes", "true", "svc-mux"
	})
	w.token(t, "stranger")
	for account, verbs := range map[string][]string{"reader": {"get"}, "actor": {"get", "create"}} {
		w.mayUseConsole(t, account, verbs)
	}
	for name, tc := range map[string]struct {
		method, path, token string
		want                int
	}{
		"no token":                       {"GET", "/api/config", "", http.StatusUnauthorized},
		"an invalid token":               {"GET", "/api/config", "guess", http.StatusUnauthorized},
		"an account without rights":      {"GET", "/api/config", w.token(t, "stranger"), http.StatusForbidden},
		"an account that may view":       {"GET", "/api/config", w.token(t, "reader"), http.StatusOK},
		"an account that may view, acts": {"POST", "/api/test-tcp", w.token(t, "reader"), http.StatusForbidden},
		// the request passes, but its body is invalid
		"an account that may act, acts":    {"POST", "/api/test-tcp", w.token(t, "actor"), http.StatusBadRequest},
		"the reconciler's own token views": {"GET", "/api/config", own, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			cluster.Eventually(t, fmt.Sprintf("the status is %d", tc.want), func(ctx context.Context) error {
				got, err := request(ctx, tc.method, "http://"+r.address+tc.path, tc.token)
				if err == nil && got != tc.want {
					return fmt.Errorf("the status is %d", got)
				}
				return err
			})
		})
	}
}

func request(ctx context.Context, method, url, token string) (int, error) {
	ask, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader("no JSON"))
	if err != nil {
		return 0, err
	}
	ask.Header.Set("Content-Type", "application/json")
	ask.Header.Set("Sec-Fetch-Site", "same-origin")
	if token != "" {
		ask.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

// token creates a ServiceAccount, if it is missing, and returns a token for it.
func (w *world) token(t *testing.T, account string) string {
	t.Helper()
	accounts := w.Client.CoreV1().ServiceAccounts(muxNamespace)
	_, _ = accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}},
		metav1.CreateOptions{})
	request, err := accounts.CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// mayUseConsole grants the rights that docs/console.md describes.
func (w *world) mayUseConsole(t *testing.T, account string, verbs []string) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: muxNamespace, Name: account}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{prefix}, Resources: []string{"consoles"}, ResourceNames: []string{"svc-mux"}, Verbs: verbs},
	}}
	if _, err := w.Client.RbacV1().Roles(muxNamespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{ObjectMeta: meta,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: muxNamespace, Name: account}}}
	if _, err := w.Client.RbacV1().RoleBindings(muxNamespace).
		Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func chart(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "..", "charts", "svc-lb-mux"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
