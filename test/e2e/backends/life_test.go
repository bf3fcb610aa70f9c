package backends

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/cluster/faults"
)

// standing creates a mux with one channel of the same name, with one backend.
func (r *running) standing(t *testing.T, name string) {
	t.Helper()
	r.mux(t, name, "aaaa")
	r.channel(t, name, name, "http")
	r.board.set(name, name, "http=aaaa")
	r.source(t, name, name, []string{"http:8080"}, []string{"10.0.0.1"})
	r.carries(t, name, "aaaa 8080: 10.0.0.1")
}

// undecided starts a new process whose board is empty: it must not delete existing slices as orphans.
func undecided(t *testing.T, w world) {
	first := w.run(t)
	first.standing(t, "undecided")
	first.stop()
	w.source(t, "undecided", "undecided", []string{"http:8080"}, []string{"10.0.0.2"})
	again := w.run(t)
	if got := again.costs(t, func() { time.Sleep(3 * time.Second) }); got != "" {
		t.Errorf("an empty board costs %s", got)
	}
	w.carries(t, "undecided", "aaaa 8080: 10.0.0.1")
	again.board.set("undecided", "somebody-else", "http=bbbb") // the mux's claims are known now, and this channel has none
	w.carries(t, "undecided")
}

func channelGoes(t *testing.T, w world) {
	r := w.run(t)
	r.standing(t, "goes")
	w.Kubectl(t, "delete", "service", "--namespace="+app, "goes")
	w.carries(t, "goes")
	w.channel(t, "goes", "goes", "http")
	w.source(t, "goes", "goes", []string{"http:8080"}, []string{"10.0.0.1"})
	w.carries(t, "goes", "aaaa 8080: 10.0.0.1")
	w.Kubectl(t, "patch", "service", "--namespace="+app, "goes", "-p",
		`{"spec":{"type":"ClusterIP","loadBalancerClass":null}}`)
	w.carries(t, "goes")
}

func muxComesBack(t *testing.T, w world) {
	r := w.run(t)
	r.standing(t, "back")
	w.Kubectl(t, "annotate", "service", "--namespace="+muxes, "back", prefix+"/multiplexer-")
	w.carries(t, "back")
	w.Kubectl(t, "annotate", "service", "--namespace="+muxes, "back", prefix+"/multiplexer=true")
	w.carries(t, "back", "aaaa 8080: 10.0.0.1")
	w.Kubectl(t, "delete", "service", "--namespace="+muxes, "back")
	w.carries(t, "back")
	w.mux(t, "back", "aaaa")
	w.carries(t, "back", "aaaa 8080: 10.0.0.1")
	mux, err := w.Client.CoreV1().Services(muxes).Get(t.Context(), "back", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the new mux owns the slice", func(context.Context) error {
		if owner := w.one(t, "back").OwnerReferences[0].UID; owner != mux.UID {
			return fmt.Errorf("the slice's owner is %s, want %s", owner, mux.UID)
		}
		return nil
	})
}

// oldCache holds the informer's events of our own writes, and wakes the controller again and again.
func oldCache(t *testing.T, w world) {
	r := w.run(t)
	w.mux(t, "old", "aaaa")
	w.channel(t, "old", "old", "http")
	w.source(t, "old", "old", []string{"http:8080"}, []string{"10.0.0.1"})
	if got := r.costs(t, func() {
		hold := r.proxy.HoldWatches(faults.Match{Resource: "endpointslices"})
		defer hold.Remove()
		r.board.set("old", "old", "http=aaaa")
		w.carries(t, "old", "aaaa 8080: 10.0.0.1")
		for range 5 {
			r.board.set("old", "old", "http=aaaa")
			time.Sleep(50 * time.Millisecond)
		}
		r.board.set("old", "old", "http=bbbb")
		w.carries(t, "old", "bbbb 8080: 10.0.0.1")
		for range 5 {
			r.board.set("old", "old", "http=bbbb")
			time.Sleep(50 * time.Millisecond)
		}
		r.board.set("old", "old")
		w.carries(t, "old")
		for range 5 {
			r.board.set("old", "old")
			time.Sleep(50 * time.Millisecond)
		}
	}); got != "1 create endpointslices, 1 delete endpointslices, 1 patch endpointslices" {
		t.Errorf("a stale cache costs %s", got)
	}
}

func conflict(t *testing.T, w world) {
	r := w.run(t)
	r.standing(t, "conflict")
	rule := r.proxy.Add(faults.Rule{Match: faults.Match{Verbs: []string{"patch"}, Resource: "endpointslices"}, Times: 3,
		Do: faults.Answer(409)})
	defer rule.Remove()
	w.source(t, "conflict", "conflict", []string{"http:8080"}, []string{"10.0.0.2"})
	w.carries(t, "conflict", "aaaa 8080: 10.0.0.2")
	if rule.Hits() != 3 {
		t.Errorf("%d conflicts", rule.Hits())
	}
}

// lostAnswer writes a slice without returning the answer to the controller.
func lostAnswer(t *testing.T, w world) {
	r := w.run(t)
	w.mux(t, "lost", "aaaa")
	w.channel(t, "lost", "lost", "http")
	r.board.set("lost", "lost", "http=aaaa")
	rule := r.proxy.Add(faults.Rule{Match: faults.Match{Verbs: faults.Writes(), Resource: "endpointslices"}, Times: 1,
		Do: faults.DropAfter()})
	defer rule.Remove()
	w.source(t, "lost", "lost", []string{"http:8080"}, []string{"10.0.0.1"})
	w.carries(t, "lost", "aaaa 8080: 10.0.0.1")
	w.source(t, "lost", "lost", []string{"http:8080"}, []string{"10.0.0.2"})
	w.carries(t, "lost", "aaaa 8080: 10.0.0.2")
	r.quiet(t)
	if events := r.events("lost"); len(events) > 0 {
		t.Errorf("the controller's own write causes the Events %+v", events)
	}
}

func refused(t *testing.T, w world) {
	r := w.run(t)
	w.mux(t, "refused", "aaaa")
	w.channel(t, "refused", "refused", "http")
	rule := r.proxy.Add(faults.Rule{Match: faults.Match{Verbs: []string{"create"}, Resource: "endpointslices"}, Times: 1,
		Do: faults.Answer(422)})
	defer rule.Remove()
	w.source(t, "refused", "refused-1", []string{"http:8080"}, []string{"10.0.0.1"})
	w.source(t, "refused", "refused-2", []string{"http:8080"}, []string{"10.0.0.2"})
	r.board.set("refused", "refused", "http=aaaa")
	// the refused slice is written, too, after the refusals end
	w.carries(t, "refused", "aaaa 8080: 10.0.0.1", "aaaa 8080: 10.0.0.2")
	if rule.Hits() != 1 {
		t.Errorf("%d writes were refused", rule.Hits())
	}
}

func restart(t *testing.T, w world) {
	first := w.run(t)
	first.standing(t, "restart")
	first.stop()
	again := w.run(t)
	if got := again.costs(t, func() { again.board.set("restart", "restart", "http=aaaa") }); got != "" {
		t.Errorf("a restart costs %s", got)
	}
	w.carries(t, "restart", "aaaa 8080: 10.0.0.1")
}

func series(t *testing.T, w world) {
	r := w.run(t)
	registry := prometheus.NewRegistry()
	registry.MustRegister(r.metrics)
	r.standing(t, "series")
	r.quiet(t)
	of := func() string {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, family := range families {
			for _, metric := range family.Metric {
				if labels := fmt.Sprint(metric.Label); !strings.Contains(labels, `"series"`) {
					continue
				}
				text += fmt.Sprintf("%s %g%g;", (*family.Name)[len("svc_lb_mux_backends_"):], metric.GetGauge().GetValue(),
					metric.GetCounter().GetValue())
			}
		}
		return text
	}
	if got := of(); got != "endpoints 10;refused_slices 00;repeated_corrections_total 00;slice_writes_total 01;" {
		t.Errorf("the mux's series are %s", got)
	}
	w.Kubectl(t, "delete", "service", "--namespace="+muxes, "series")
	w.carries(t, "series")
	r.quiet(t)
	if got := of(); got != "" {
		t.Errorf("series of the deleted mux remain: %s", got)
	}
}
