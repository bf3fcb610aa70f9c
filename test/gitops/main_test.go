// Package gitops tests the product with GitOps tools. A repository of muxes and channels must become stable under each
// tool that may apply it, without rules to ignore differences, and must stay stable.
//
// The tools are the real ones. The engines of Flux and Argo CD have many dependencies, so each is a separate module
// with a command (flux, argo). The command reads manifests and prints the result.
package gitops

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"nowake.ai/svc-lb-mux/test/cluster/binaries"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/long"
)

const (
	prefix    = "svc-mux.nowake.ai"
	release   = "svc-mux"
	namespace = "svc-mux"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// world is the cluster that all tests share. Reconciler and webhook run in it.
type world struct {
	*cluster.Cluster
	user kubernetes.Interface
	bin  map[string]string // tool name to the folder of its program
}

func TestGitOps(t *testing.T) {
	w := start(t)
	for _, tool := range tools() {
		t.Run(tool.name, func(t *testing.T) {
			if tool.long {
				long.Only(t, "argo, and of the tools that apply on the server side helm4 and flux")
			}
			w.tool(t, tool)
		})
	}
	t.Run("a sync without differences", w.pressed)
	t.Run("a repository moves from one tool to another", w.moves)
	t.Run("the reconciler restores what a replacement removed", w.replaced)
	t.Run("a mux that Argo CD replaces", w.replacedByArgo)
	t.Run("a mux that Argo CD replaces again and again", func(t *testing.T) {
		long.Only(t, "test/sim has GitOps tools that revert muxes")
		w.replacedWithoutEnd(t)
	})
	t.Run("contradicting declarations need the docs' ignore rule", w.contradictions)
	t.Run("health depends on the address", w.health)
	t.Run("without the docs' advice, Terraform removes ports and the reconciler restores them", w.terraformUnadvised)
	t.Run("with the docs' advice, Terraform changes nothing", w.terraformAdvised)
	t.Run("Terraform adopts the docs' advice later", w.terraformConverted)
}

func start(t *testing.T) *world {
	bin, err := cluster.Binaries(t.Context(), binaries.Helm3(), binaries.Helm4(), binaries.Flux(), binaries.Argo())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Cluster: cluster.Start(t, cluster.WithProvider(), cluster.Helm(), cluster.Audit()), bin: bin}
	w.user = w.Client
	w.namespace(t, namespace)
	w.serveWebhook(t)
	w.reconcile(t)
	return w
}

func (w *world) namespace(t *testing.T, name string) {
	t.Helper()
	_, err := w.user.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// place holds the namespaces of a test's copy of the repository.
type place struct{ infra, shop string }

func (w *world) place(t *testing.T, name string) place {
	t.Helper()
	p := place{infra: name + "-infra", shop: name + "-shop"}
	w.namespace(t, p.infra)
	w.namespace(t, p.shop)
	return p
}

// manifests returns files of testdata, filled in for this place.
func (p place) manifests(t *testing.T, files ...string) string {
	t.Helper()
	var all []string
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.TrimSpace(string(data)))
	}
	text := strings.Join(all, "\n---\n") + "\n"
	text = regexp.MustCompile(`namespace: (infra|shop)\b`).ReplaceAllStringFunc(text, func(s string) string {
		return strings.NewReplacer("infra", p.infra, "shop", p.shop).Replace(s)
	})
	return regexp.MustCompile(`(loadBalancerClass: \S+)\.infra\b`).ReplaceAllString(text, "$1."+p.infra)
}

func (p place) repository(t *testing.T, more ...string) string {
	t.Helper()
	return p.manifests(t, append([]string{"repository/muxes.yaml", "repository/channels.yaml"}, more...)...)
}
