package gitops

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

const (
	replacePorts     = "replace /spec/ports"
	removeGeneration = "remove /metadata/annotations/svc-mux.nowake.ai~1generation"
	removeNumbers    = "remove /metadata/annotations/svc-mux.nowake.ai~1ports"
)

// terraformed holds a mux and a channel that Terraform created. A second channel isn't in Terraform's state.
type terraformed struct {
	place
	mux, channel *resource
}

func (w *world) terraformed(t *testing.T, name string, advice advice) *terraformed {
	t.Helper()
	p, client, no := w.place(t, name), w.terraform(t), false
	class := prefix + "/public." + p.infra
	tf := &terraformed{
		place: p,
		mux: &resource{client: client, advice: advice, config: &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.infra, Name: "public", Annotations: map[string]string{
				prefix + "/multiplexer": "true", prefix + "/port-range": "20000-20099"}},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, AllocateLoadBalancerNodePorts: &no,
				Ports: []corev1.ServicePort{{Name: "placeholder", Port: 101}}},
		}},
		channel: &resource{client: client, advice: advice, config: &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.shop, Name: "web",
				Annotations: map[string]string{prefix + "/external-ports": "http:auto"}},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class,
				AllocateLoadBalancerNodePorts: &no,
				Ports:                         []corev1.ServicePort{{Name: "http", Port: 80}}},
		}},
	}
	for _, r := range []*resource{tf.mux, tf.channel} {
		if err := r.create(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.Apply(t, fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: api, namespace: %s},
		spec: {type: LoadBalancer, loadBalancerClass: %s, allocateLoadBalancerNodePorts: false,
			ports: [{name: https, port: 443}]}}`,
		p.shop, class))
	w.rested(t, p)
	return tf
}

// terraformNumbers returns the mux's ports and the numbers of the two channels, the same before and after each apply.
func terraformNumbers() map[string]string {
	return map[string]string{"public": "20000/TCP 443/TCP", "web": "http:80->20000", "api": "https:443->443"}
}

func (w *world) keepsNumbers(t *testing.T, tf *terraformed) {
	t.Helper()
	w.rested(t, tf.place)
	if diff := cmp.Diff(terraformNumbers(), w.public(t, tf.place)); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
}

// terraformUnadvised applies a configuration without settings for other writers. Each apply removes the channels' ports
// from the mux, and the reconciler restores them.
func (w *world) terraformUnadvised(t *testing.T) {
	tf := w.terraformed(t, "terraform-unadvised", advice{})
	w.keepsNumbers(t, tf)
	for round := range 2 {
		ops, answer, err := tf.mux.apply(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{replacePorts, removeGeneration} {
			if !slices.Contains(pathsOf(ops), want) {
				t.Fatalf("apply %d: the plan lacks %q: %v", round+1, want, pathsOf(ops))
			}
		}
		if ports := answer.Spec.Ports; len(ports) != 1 || ports[0].Name != "placeholder" {
			t.Errorf("apply %d: the mux has the ports %v after the patch: the docs' warning is outdated", round+1, ports)
		}
		w.keepsNumbers(t, tf)
	}
	cluster.Eventually(t, "an Event tells of the correction", func(ctx context.Context) error {
		events, err := w.user.CoreV1().Events(tf.infra).List(ctx,
			metav1.ListOptions{FieldSelector: "reason=MuxDriftCorrected"})
		if err == nil && len(events.Items) == 0 {
			err = fmt.Errorf("there is none")
		}
		return err
	})
	if ops, err := tf.channel.plan(t.Context()); err != nil || !slices.Equal(pathsOf(ops), []string{removeNumbers}) {
		t.Errorf("the plan for the channel is %v, %v; want %q", pathsOf(ops), err, removeNumbers)
	}
}

// terraformAdvised applies the configuration of docs/gitops.md. Nothing differs, and a change of the configuration
// changes nothing else.
func (w *world) terraformAdvised(t *testing.T) {
	tf := w.terraformed(t, "terraform-advised", documentedAdvice(t))
	w.keepsNumbers(t, tf)
	before := w.rested(t, tf.place)
	for round := range 10 {
		tf.sendsNothing(t, fmt.Sprintf("plan %d", round+1))
		if round == 4 {
			w.guest(t, tf.place, 0) // a channel comes and goes
			w.keepsNumbers(t, tf)
			before = w.rested(t, tf.place)
		}
	}
	if after := w.rested(t, tf.place); !maps.Equal(before, after) {
		t.Errorf("objects changed (-before +after):\n%s", cmp.Diff(before, after))
	}

	tf.mux.config.Annotations[prefix+"/max-ports"] = "50"
	ops, answer, err := tf.mux.apply(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"add /metadata/annotations/svc-mux.nowake.ai~1max-ports"}; !slices.Equal(pathsOf(ops), want) {
		t.Errorf("a new annotation sends %v, want %v", pathsOf(ops), want)
	} else if len(answer.Spec.Ports) != 2 {
		t.Errorf("the mux has the ports %v after the patch", answer.Spec.Ports)
	}
	w.keepsNumbers(t, tf)
	w.notCorrected(t, tf.place)
	tf.sendsNothing(t, "after the change")
}

// terraformConverted begins without the advice, and adopts it later. The state then has the reconciler's annotations,
// so the first apply removes them once. Ports stay.
func (w *world) terraformConverted(t *testing.T) {
	tf := w.terraformed(t, "terraform-converted", advice{})
	for _, r := range []*resource{tf.mux, tf.channel} {
		if err := r.refresh(t.Context()); err != nil { // as `terraform plan` does
			t.Fatal(err)
		}
		r.advice = documentedAdvice(t)
		ops, answer, err := r.apply(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range ops {
			if op.Op != "remove" || !strings.HasPrefix(op.Path, "/metadata/annotations/svc-mux.nowake.ai~1") {
				t.Errorf("the first apply of %s sends an unexpected %s %s", r.config.Name, op.Op, op.Path)
			}
		}
		if answer == nil {
			t.Fatalf("the first apply of %s sends nothing: the docs' warning is outdated", r.config.Name)
		}
		if r == tf.mux && len(answer.Spec.Ports) != 2 {
			t.Errorf("the mux has the ports %v after the patch", answer.Spec.Ports)
		}
	}
	w.keepsNumbers(t, tf)
	tf.sendsNothing(t, "after the conversion")
}

func (tf *terraformed) sendsNothing(t *testing.T, when string) {
	t.Helper()
	for _, r := range []*resource{tf.mux, tf.channel} {
		if ops, _, err := r.apply(t.Context()); err != nil || len(ops) > 0 {
			t.Errorf("%s: Terraform changes %s: %v, %v", when, r.config.Name, pathsOf(ops), err)
		}
	}
}

// documentedAdvice parses docs/gitops.md: the paths of ignore_changes, and the patterns of ignore_annotations.
func documentedAdvice(t *testing.T) (a advice) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "gitops.md"))
	if err != nil {
		t.Fatal(err)
	}
	list := func(name string) string {
		match := regexp.MustCompile(`(?s)` + name + `\s*=\s*\[(.*?)\]\n`).FindSubmatch(page)
		if match == nil {
			t.Fatalf("docs/gitops.md shows no %s", name)
		}
		return string(match[1])
	}
	a.ignorePorts = strings.TrimSpace(list("ignore_changes")) == "spec[0].port"
	for _, quoted := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(list("ignore_annotations"), -1) {
		a.ignoreAnnotations = append(a.ignoreAnnotations, regexp.MustCompile(strings.ReplaceAll(quoted[1], `\\`, `\`)))
	}
	return a
}
