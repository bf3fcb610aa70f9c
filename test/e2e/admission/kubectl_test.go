package admission

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/corpus"
	"nowake.ai/svc-lb-mux/test/long"
)

// small returns whether kubectl can send a Service: `apply` stores the object a second time, in an annotation.
func small(service *corev1.Service) bool {
	data, err := json.Marshal(service)
	return err == nil && len(data) < 100_000
}

func kubectlCorpus(t *testing.T, w world, cases []corpus.Case) {
	var good, bad []*corev1.Service
	for _, c := range cases {
		switch {
		case c.Impossible, c.Old != nil, !small(c.Service):
		case len(c.Deny) == 0:
			good = append(good, c.Service)
		default:
			bad = append(bad, c.Service)
		}
	}
	if len(good) < 100 || len(bad) < 100 {
		t.Fatalf("only %d good and %d bad Services: the corpus has more", len(good), len(bad))
	}
	for _, way := range []struct{ args, instead string }{
		{args: "apply --dry-run=server"},
		{args: "apply --server-side --dry-run=server"},
		{args: "create --dry-run=server", instead: "apply --dry-run=server, which creates, too"},
		{args: "apply --server-side", instead: "the dry runs; test/gitops applies without"},
	} {
		t.Run(way.args, func(t *testing.T) {
			if way.instead != "" {
				long.Only(t, way.instead)
			}
			args := append(strings.Fields(way.args), "-f", "-")
			if _, err := w.TryKubectl(t.Context(), listOf(t, good), args...); err != nil {
				t.Errorf("good Services are refused: %v", err)
			}
			out, err := w.TryKubectl(t.Context(), listOf(t, bad), args...)
			if err == nil {
				t.Error("not one bad Service is refused")
			}
			for _, service := range bad {
				if name := service.Namespace + "/" +
					service.Name; !regexp.MustCompile(regexp.QuoteMeta(name) + "[ :]").MatchString(out.Stderr) {
					t.Errorf("the output doesn't name %s", name)
				}
			}
			if out.Stdout != "" {
				t.Errorf("bad Services are allowed:\n%s", out.Stdout)
			}
		})
	}
	if !long.Runs() {
		return // dry runs leave nothing to delete
	}
	if _, err := w.TryKubectl(t.Context(), listOf(t, good), "delete", "--wait=false", "-f", "-"); err != nil {
		t.Errorf("applied Services can't be deleted: %v", err)
	}
}

// listOf returns one manifest of all Services.
func listOf(t *testing.T, services []*corev1.Service) string {
	t.Helper()
	items := make([]*corev1.Service, len(services))
	for i, service := range services {
		items[i] = service.DeepCopy()
		items[i].TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}
	}
	data, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// bad creates a bad Service, as if it existed before the webhook.
func bad(t *testing.T, w world, name string) {
	t.Helper()
	_, err := w.reconciler.CoreV1().Services(team).Create(t.Context(), channel(name, "grcp:1"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func badAlready(t *testing.T, w world) {
	bad(t, w, "old")
	in := "--namespace=" + team
	w.Kubectl(t, "label", "service/old", "touched=yes", in)
	w.Kubectl(t, "patch", "service/old", in, "-p", `{"spec":{"selector":{"app":"new"}}}`)
	edit(t, w, "old", "s/touched: .*/touched: again/")
	if got := w.Kubectl(t, "get", "service/old", in, "-o",
		"jsonpath={.metadata.labels.touched} {.spec.selector.app}"); got != "again new" {
		t.Errorf("after three changes the Service has %q", got)
	}
	w.Kubectl(t, "delete", "service/old", in)
}

// edit runs the real `kubectl edit`, with sed as the editor.
func edit(t *testing.T, w world, name, change string) cluster.Output {
	t.Helper()
	out, err := w.Run(t.Context(), cluster.Program{
		Args: []string{filepath.Join(w.BinDir(), "kubectl"), "edit", "service/" + name, "--namespace=" + team},
		Env:  []string{"KUBE_EDITOR=sed -i '" + change + "'"},
	})
	if err != nil {
		out.Stderr += err.Error()
	}
	return out
}

// survivesForce runs with the webhook and with the policy. `kubectl apply --force` deletes objects that it can't change
// in place. It must not do that after a denial.
func survivesForce(t *testing.T, w world) {
	svc := channel("live", "http:8080")
	before, err := w.user.CoreV1().Services(team).Create(t.Context(), svc, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	worse, err := json.Marshal(channel("live", "grcp:1"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := w.TryKubectl(t.Context(), string(worse), "apply", "--force", "-f", "-"); err == nil {
		t.Errorf("the change isn't refused: %s", out.Stdout)
	}
	after, err := w.user.CoreV1().Services(team).Get(t.Context(), "live", metav1.GetOptions{})
	if err != nil || after.UID != before.UID {
		t.Errorf("a refused change deleted the live Service: %v", err)
	}
	w.Kubectl(t, "delete", "service/live", "--namespace="+team)
}

func refusedInWords(t *testing.T, w world) {
	const way = `port "grcp" is not one of this Service's ports (http)`
	if _, err := w.user.CoreV1().Services(team).
		Create(t.Context(), channel("fine", "http:8080"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	in := "--namespace=" + team
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"grcp:1"}}}`, prefix+"/external-ports")
	replacement, err := json.Marshal(channel("fine", "grcp:1"))
	if err != nil {
		t.Fatal(err)
	}
	run := func(stdin string, args ...string) string {
		out, err := w.TryKubectl(t.Context(), stdin, append(args, in)...)
		if err == nil {
			t.Errorf("kubectl %v isn't refused", args)
		}
		return out.Stderr
	}
	for name, words := range map[string]string{
		"patch, strategic": run("", "patch", "service/fine", "-p", patch),
		"patch, merge":     run("", "patch", "service/fine", "--type=merge", "-p", patch),
		"patch, json": run("", "patch", "service/fine", "--type=json", "-p",
			`[{"op":"replace","path":"/metadata/annotations/`+strings.ReplaceAll(prefix, "/", "~1")+
				`~1external-ports","value":"grcp:1"}]`),
		"annotate": run("", "annotate", "--overwrite", "service/fine", prefix+"/external-ports=grcp:1"),
		"replace":  run(string(replacement), "replace", "-f", "-"),
		"edit":     edit(t, w, "fine", "s/http:8080/grcp:1/").Stderr,
		"create":   run(strings.ReplaceAll(string(replacement), `"fine"`, `"new"`), "create", "-f", "-"),
	} {
		if !strings.Contains(words, way) {
			t.Errorf("%s: the message suggests no remedy:\n%s", name, words)
		}
	}
	if got := w.Kubectl(t, "get", "service/fine", in, "-o", "jsonpath={.metadata.annotations}"); !strings.Contains(got,
		"http:8080") {
		t.Errorf("the refused change was stored: %s", got)
	}
	w.Kubectl(t, "delete", "service/fine", in)
}
