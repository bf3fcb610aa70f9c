package gitops

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/long"
)

// refusal is the start of the webhook's message about a channel that maps a port which the channel lacks.
const refusal = `port "grcp" is not one of this Service's ports (`

// tool runs all checks for a tool, on its own copy of the repository.
func (w *world) tool(t *testing.T, tool tool) {
	p := w.place(t, tool.name)
	w.apply(t, tool, p.repository(t), 1)
	w.rested(t, p)
	w.asWanted(t, p)
	t.Run("reconciliations find nothing and change nothing", func(t *testing.T) { w.stays(t, tool, p) })
	t.Run("channels come and go meanwhile", func(t *testing.T) {
		if tool.slow {
			long.Only(t, "the other tools")
		}
		w.traffic(t, tool, p)
	})
	t.Run("a bad channel is refused with our message", func(t *testing.T) {
		early(t, w.refuses(t, tool, p, p.repository(t, "bad.yaml")), tool.looksAtNew)
	})
	t.Run("a bad change of a channel is refused with our message", func(t *testing.T) {
		early(t, w.refuses(t, tool, p, strings.ReplaceAll(p.repository(t), "http:auto", "grcp:auto")), tool.looks)
	})
	t.Run("a change of a mux leaves its channels alone", func(t *testing.T) { w.changes(t, tool, p) })
}

// stays reconciles three times, or in `make long` ten times.
func (w *world) stays(t *testing.T, tool tool, p place) {
	times := 3
	if long.Runs() {
		times = 10
	}
	before := w.rested(t, p)
	from := w.audited(t)
	rounds := w.apply(t, tool, p.repository(t), times)
	requests := w.requests(t, from)
	after, err := w.versions(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for i, this := range rounds {
		if err := this.quiet(); err != nil && !tool.writes {
			t.Errorf("reconciliation %d: %v", i+1, err)
		} else if len(this.Drift) > 0 {
			t.Errorf("reconciliation %d: %v", i+1, this.quiet())
		}
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("objects were written (-before +after):\n%s", diff)
	}
	for who, n := range requests {
		by, what, _ := strings.Cut(who, " ")
		if by == agent || by == tool.agent && !tool.writes {
			t.Errorf("%s sent %d requests to %s", by, n, what)
		}
	}
	t.Logf("requests to change something, in %d reconciliations: %v", times, requests)
	w.asWanted(t, p)
}

// traffic creates and deletes other channels of the repository's mux while the tool reconciles.
func (w *world) traffic(t *testing.T, tool tool, p place) {
	ctx, stop := context.WithCancel(t.Context())
	came := make(chan int, 1)
	go func() {
		n := 0
		for ctx.Err() == nil {
			if w.guest(t, p, n%5) {
				n++
			}
		}
		came <- n
	}()
	times := 5
	if tool.slow {
		times = 2
	}
	rounds, err := tool.apply(t.Context(), w, p.repository(t), times)
	stop()
	n := <-came
	if err != nil {
		t.Fatal(err)
	}
	for i, this := range rounds {
		if this.Error != "" {
			t.Errorf("reconciliation %d: %s", i+1, this.Error)
		}
	}
	if n == 0 {
		t.Error("no channel was programmed meanwhile")
	}
	w.rested(t, p)
	w.asWanted(t, p)
	w.notCorrected(t, p)
	if err := w.apply(t, tool, p.repository(t), 1)[0].quiet(); err != nil && !tool.writes {
		t.Errorf("after %d channels came and went: %v", n, err)
	}
}

// guest creates a channel, waits until it is programmed, and deletes it.
func (w *world) guest(t *testing.T, p place, n int) (came bool) {
	ctx := t.Context()
	guests := w.user.CoreV1().Services("default")
	class, no := prefix+"/public."+p.infra, false
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("guest-%d", n),
			Annotations: map[string]string{prefix + "/external-ports": "http:auto"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class,
			AllocateLoadBalancerNodePorts: &no,
			Ports:                         []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
	if _, err := guests.Create(ctx, svc, metav1.CreateOptions{}); err != nil {
		t.Errorf("creating a guest fails: %v", err)
		return false
	}
	cluster.Eventually(t, svc.Name+" is programmed", func(ctx context.Context) error {
		now, err := guests.Get(ctx, svc.Name, metav1.GetOptions{})
		if err == nil && condition(now, "Programmed") != metav1.ConditionTrue {
			err = fmt.Errorf("it is not: %v", now.Status.Conditions)
		}
		return err
	})
	if err := guests.Delete(ctx, svc.Name, metav1.DeleteOptions{}); err != nil {
		t.Errorf("deleting a guest fails: %v", err)
	}
	return true
}

// notCorrected fails the test if the reconciler corrected drift. It emits an Event when it does.
func (w *world) notCorrected(t *testing.T, p place) {
	t.Helper()
	for _, in := range []string{p.infra, p.shop} {
		events, err := w.user.CoreV1().Events(in).List(t.Context(),
			metav1.ListOptions{FieldSelector: "reason=MuxDriftCorrected"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range events.Items {
			t.Errorf("the reconciler corrected drift on %s: %s", events.Items[i].InvolvedObject.Name, events.Items[i].Message)
		}
	}
}

// refuses applies a repository that contains a mistake, and then the correct one. It returns the refusal.
func (w *world) refuses(t *testing.T, tool tool, p place, mistaken string) string {
	before := w.rested(t, p)
	rounds, err := tool.apply(t.Context(), w, mistaken, 1)
	if err != nil {
		t.Fatal(err)
	}
	said := rounds[0].Error + fmt.Sprint(rounds[0].Applied)
	if rounds[0].Error == "" || !strings.Contains(strings.ReplaceAll(said, `\"`, `"`), refusal) {
		t.Errorf("the webhook's message is missing: %s", said)
	}
	if after := w.rested(t, p); !maps.Equal(before, after) {
		t.Errorf("objects were written (-before +after):\n%s", cmp.Diff(before, after))
	}
	if err := w.apply(t, tool, p.repository(t), 1)[0].quiet(); err != nil && !tool.writes {
		t.Errorf("the correct repository afterwards: %v", err)
	}
	return said
}

// early checks that a tool's words show a refusal before any write.
func early(t *testing.T, said, words string) {
	t.Helper()
	if !strings.Contains(said, words) {
		t.Errorf("want a refusal before any write, with the words %q: %s", words, said)
	}
}

// changes declares another port of the owner's on a mux.
func (w *world) changes(t *testing.T, tool tool, p place) {
	const declared = "  - {name: placeholder, port: 101}\n"
	changed := strings.Replace(p.repository(t), declared, declared+"  - {name: probe, port: 9000}\n", 1)
	w.apply(t, tool, changed, 1)
	w.rested(t, p)
	want := wanted()
	want["public"] = "101/TCP 20000/TCP 53/TCP 53/UDP 8443/TCP 9000/TCP 9100/TCP"
	if diff := cmp.Diff(want, w.public(t, p)); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	w.notCorrected(t, p)
	if err := w.apply(t, tool, changed, 1)[0].quiet(); err != nil && !tool.writes {
		t.Error(err)
	}
}
