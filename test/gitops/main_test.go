// Package gitops holds the product to what GitOps needs: a repository of muxes and channels comes to rest under each tool
// that may apply it, with nothing to ignore, and stays at rest.
//
// The tools are the real ones. Flux's and Argo CD's engines have dependencies of their own, so each is a module and a
// command (flux, argo) that reads manifests and tells what it did.
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
)

const (
	prefix    = "svc-mux.nowake.ai"
	release   = "svc-mux"
	namespace = "svc-mux"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// world is the cluster that all tests share, with reconciler and webhook at work in it.
type world struct {
	*cluster.Cluster
	user kubernetes.Interface
	bin  map[string]string // a tool's name to its folder
}

func TestGitOps(t *testing.T) {
	w := start(t)
	for _, tool := range tools() {
		t.Run(tool.name, func(t *testing.T) { w.tool(t, tool) })
	}
	t.Run("somebody presses Sync though nothing differs", w.pressed)
	t.Run("a repository moves from one tool to another", w.moves)
	t.Run("what a replacement wipes comes back", w.replaced)
	t.Run("a mux that Argo CD replaces", w.replacedByArgo)
	t.Run("a mux that Argo CD replaces again and again", w.replacedWithoutEnd)
	t.Run("a contradiction needs the rule in the docs", w.contradictions)
	t.Run("health goes by the address", w.health)
	t.Run("Terraform without advice takes ports away, and they come back", w.terraformUnadvised)
	t.Run("Terraform with the page's advice changes nothing", w.terraformAdvised)
	t.Run("Terraform takes the page's advice later", w.terraformConverted)
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

// place is where one test's copy of the repository goes.
type place struct{ infra, shop string }

func (w *world) place(t *testing.T, name string) place {
	t.Helper()
	p := place{infra: name + "-infra", shop: name + "-shop"}
	w.namespace(t, p.infra)
	w.namespace(t, p.shop)
	return p
}

// manifests are files of testdata as they are for this place.
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
