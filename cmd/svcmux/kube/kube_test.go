package kube

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/validation"
)

// server answers as an API server does.
func server(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.URL
}

// flags returns the flags of a command line, with a kubeconfig for the server.
func flags(t *testing.T, url string, args ...string) (*Flags, *cobra.Command) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: here, cluster: {server: %q}}]
users: [{name: jane, user: {token: secret}}]
contexts:
- {name: work, context: {cluster: here, user: jane, namespace: shop}}
- {name: staging, context: {cluster: here, user: jane}}
current-context: work
`, url)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &Flags{}
	cmd := &cobra.Command{Use: "test", RunE: func(*cobra.Command, []string) error { return nil }}
	f.Bind(cmd)
	f.BindAll(cmd)
	cmd.SetArgs(append([]string{"--kubeconfig", path}, args...))
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f, cmd
}

func answer(t *testing.T, w http.ResponseWriter, code int, object any) {
	t.Helper()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(object); err != nil {
		t.Error(err)
	}
}

func status(reason metav1.StatusReason, message string) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: reason,
		Message: message,
	}
}

func TestServicesAreReadPageByPage(t *testing.T) {
	var asked []string
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		list := corev1.ServiceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceList"}}
		list.Items = []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s%d", len(asked))}}}
		if len(asked) == 1 {
			list.Continue = "next"
		}
		answer(t, w, http.StatusOK, list)
	})
	f, _ := flags(t, url, "-n", "chat")
	c := must(f.Cluster(cli.Env{Err: io.Discard}))
	services := must(c.Services(t.Context(), c.Namespace, "app=web"))
	want := []string{
		"/api/v1/namespaces/chat/services?labelSelector=app%3Dweb&limit=500",
		"/api/v1/namespaces/chat/services?continue=next&labelSelector=app%3Dweb&limit=500",
	}
	if diff := cmp.Diff(want, asked); diff != "" || len(services) != 2 || services[1].Name != "s2" {
		t.Errorf("%d Services; requests (-want +got):\n%s", len(services), diff)
	}
}

func TestAMissingServiceIsNoError(t *testing.T) {
	url := server(t, func(w http.ResponseWriter, _ *http.Request) {
		answer(t, w, http.StatusNotFound, status(metav1.StatusReasonNotFound, "gone"))
	})
	f, _ := flags(t, url)
	svc, err := must(f.Cluster(cli.Env{Err: io.Discard})).Service(t.Context(),
		types.NamespacedName{Namespace: "a", Name: "b"})
	if svc != nil || err != nil {
		t.Errorf("got %v, %v", svc, err)
	}
}

func TestErrorsAreSentencesWithTheWayOut(t *testing.T) {
	reply := func(code int, reason metav1.StatusReason, message string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { answer(t, w, code, status(reason, message)) }
	}
	tests := map[string]struct {
		handle http.HandlerFunc
		url    string
		args   []string
		want   string
	}{
		"no rights": {
			handle: reply(http.StatusForbidden, metav1.StatusReasonForbidden, `services is forbidden: User "jane" cannot list`),
			want:   `services is forbidden: User "jane" cannot list: ask for this right, or choose another namespace with -n`,
		},
		"stale credentials": {
			handle: reply(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized"),
			want: "the API server SERVER doesn't accept the credentials of context work: " +
				"log in again, or choose another --context",
		},
		"a server that is broken": {
			handle: reply(http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcd is on fire"),
			want:   "the API server SERVER answers: etcd is on fire: try again, or choose another --context",
		},
		"a server that isn't there": {
			url: "http://127.0.0.1:1",
			want: "the API server SERVER can't be reached: dial tcp 127.0.0.1:1: connect: connection refused: is it up, and " +
				"is work the right --context?",
		},
		"a server that doesn't answer in time": {
			handle: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			args:   []string{"--request-timeout", "50ms"},
			want:   "the API server SERVER can't be reached: ",
		},
		"a context with a typo": {args: []string{"--context", "stagin"}, url: "http://127.0.0.1:1",
			want: "--context stagin: the kubeconfig has no such context: did you mean staging?"},
		"another context": {args: []string{"--context", "x"}, url: "http://127.0.0.1:1",
			want: "--context x: the kubeconfig has no such context: choose one of staging, work"},
		"a hostile context": {args: []string{"--context", "\x1b[31m"}, url: "http://127.0.0.1:1",
			want: `--context "\x1b[31m": the kubeconfig has no such context`},
		"a user that isn't there": {
			args: []string{"--user", "joe"}, url: "http://127.0.0.1:1",
			want: `the kubeconfig can't be used: auth info "joe" does not exist: choose a context`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			url := tc.url
			if tc.handle != nil {
				url = server(t, tc.handle)
			}
			f, _ := flags(t, url, tc.args...)
			c, err := f.Cluster(cli.Env{Err: io.Discard})
			if err == nil {
				_, err = c.Services(t.Context(), "", "")
			}
			if err == nil || !strings.HasPrefix(err.Error(), strings.ReplaceAll(tc.want, "SERVER", url)) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

func TestWithoutAKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	f := &Flags{}
	f.Bind(&cobra.Command{})
	_, err := f.Cluster(cli.Env{Err: io.Discard})
	if f.Configured() || cli.ExitCode(err) != cli.ExitUsage ||
		!strings.HasPrefix(err.Error(), "no cluster is configured: name a kubeconfig") {
		t.Errorf("got %v, configured %v", err, f.Configured())
	}
}

func TestCompletion(t *testing.T) {
	lang := must(validation.New(validation.DefaultPrefix, "svc-mux"))
	class := "svc-mux.nowake.ai/mux"
	services := []corev1.Service{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.ServiceSpec{LoadBalancerClass: &class}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "mux",
			Annotations: map[string]string{validation.DefaultPrefix + "/multiplexer": "true"}}},
	}
	handle := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/namespaces":
			answer(t, w, http.StatusOK, corev1.NamespaceList{Items: []corev1.Namespace{
				{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, {ObjectMeta: metav1.ObjectMeta{Name: "infra"}},
			}})
		case "/api/v1/services":
			answer(t, w, http.StatusOK, corev1.ServiceList{Items: services})
		default:
			answer(t, w, http.StatusForbidden, status(metav1.StatusReasonForbidden, "no"))
		}
	}
	f, cmd := flags(t, server(t, handle))
	for name, tc := range map[string]struct {
		complete cobra.CompletionFunc
		typed    string
		want     []string
	}{
		"namespaces":          {f.Namespaces(), "", []string{"infra", "shop"}},
		"a namespace's start": {f.Namespaces(), "sh", []string{"shop"}},
		"muxes":               {f.Muxes(lang), "", []string{"infra/mux"}},
		"channels":            {f.Channels(lang), "shop/", []string{"shop/web"}},
	} {
		if got, _ := tc.complete(cmd, nil, tc.typed); cmp.Diff(tc.want, got) != "" {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
	for _, url := range []string{"http://127.0.0.1:1", server(t, func(w http.ResponseWriter, _ *http.Request) {
		answer(t, w, http.StatusForbidden, status(metav1.StatusReasonForbidden, "no"))
	})} {
		f, cmd := flags(t, url)
		if got, directive := f.Muxes(lang)(cmd, nil, ""); got != nil || directive != cobra.ShellCompDirectiveNoFileComp {
			t.Errorf("without an answer: %q", got)
		}
	}
}

func TestContextsAreCompleted(t *testing.T) {
	_, cmd := flags(t, "http://127.0.0.1:1")
	complete, there := cmd.GetFlagCompletionFunc("context")
	if !there {
		t.Fatal("--context has no completion")
	}
	if got, _ := complete(cmd, nil, "st"); cmp.Diff([]string{"staging"}, got) != "" {
		t.Errorf("got %q", got)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
