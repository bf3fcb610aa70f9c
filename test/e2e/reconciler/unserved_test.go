package reconciler

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	reconciler "nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// TestMuxesOfOtherNamespaces runs reconcilers that serve muxes of some namespaces each. The present reconciler tells a
// channel that its mux isn't served. It doesn't tell that to a channel of a served mux.
func TestMuxesOfOtherNamespaces(t *testing.T) {
	narrow := func(namespaces string) func(*reconciler.Process) {
		return func(p *reconciler.Process) { p.Options.MuxNamespaces = namespaces }
	}
	s := newScene(t, narrow("svc-mux"))
	s.namespace(t, "edge")
	mux, edge := s.mux(t, "mux"), s.mux(t, "mux", func(svc *corev1.Service) { svc.Namespace = "edge" })
	ours, theirs := s.channel(t, "app", "ours", mux), s.channel(t, "app", "theirs", edge)
	s.awaitServed(t, ours, "http:80->20000")
	odd := s.channel(t, "app", "odd", mux, annotated("multiplexer", "false"))
	s.awaitServed(t, odd, "http:80->20001")
	s.annotate(t, odd, "disabled", "true") // the reconciler reads a channel live before it disables it
	s.awaitCondition(t, odd, "Programmed", "False Disabled")
	s.awaitCondition(t, theirs, "Accepted", "False MuxNotServed")
	s.awaitCondition(t, theirs, "Programmed", "False NotAccepted")
	s.toldOnce(t, theirs, "Warning MuxNotServed ", "serves muxes in svc-mux alone", "edge/mux", "rbac.muxNamespaces")

	s.run.stop()
	s.run = s.again(t, narrow("svc-mux,infra"))
	s.awaitTold(t, theirs, "Warning MuxNotServed ", "serves muxes in svc-mux, infra alone")

	other := s.again(t, narrow("edge"), func(p *reconciler.Process) { // the reconciler of another release
		p.Config, p.Options.LeaseName = s.unrestrained(), "the-other"
	})
	s.awaitServed(t, theirs, "http:80->20000")
	late := s.channel(t, "app", "late", edge)
	s.awaitServed(t, late, "http:80->20001")
	s.annotate(t, theirs, "example.com/any", "thing")
	s.quiet(t, 500*time.Millisecond)
	s.awaitServed(t, theirs, "http:80->20000")
	if told := having(s.events(t, late), "MuxNotServed"); len(told) > 0 {
		t.Errorf("a channel of a served mux was told %v", told)
	}
	other.stop()

	// To this reconciler it is the same whether the mux was another release's or its own.
	if told := having(s.events(t, edge), "Normal MuxNotServed"); len(told) > 0 {
		t.Errorf("a mux that another release served was told %v", told)
	}
	s.run.stop()
	s.run = s.again(t, narrow("svc-mux,infra"))
	s.awaitTold(t, edge, "Normal MuxNotServed ", "serves muxes in svc-mux, infra alone", "namespace edge",
		"rbac.muxNamespaces")

	s.namespace(t, "nowhere")
	idle := s.mux(t, "mux", func(svc *corev1.Service) { svc.Namespace = "nowhere" })
	lost := s.channel(t, "app", "lost", idle)
	s.awaitTold(t, idle, "Warning MuxNotServed ", "serves muxes in svc-mux, infra alone", "namespace nowhere",
		"rbac.muxNamespaces")
	s.awaitCondition(t, lost, "Accepted", "False MuxNotServed")
	s.run.stop()
	goodbye := s.again(t, narrow("svc-mux,infra"), func(p *reconciler.Process) { p.Options.Drain = true })
	err := <-goodbye.ended
	goodbye.ended <- err
	if err != nil {
		t.Fatal(err)
	}
	s.awaitBare(t, lost)
	s.awaitServed(t, theirs, "http:80->20000") // the other release's channel
	nothingRuns(t)
}

// nothingRuns waits until all goroutines of reconcilers in this process have ended. A reconciler that is stopped while
// it fills its caches leaves a goroutine behind (see process/manager.go). So a test that calls nothingRuns must not
// stop a reconciler that early.
func nothingRuns(t *testing.T) {
	t.Helper()
	cluster.Eventually(t, "all goroutines have ended", func(context.Context) error {
		stacks := make([]byte, 8<<20)
		for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			for _, of := range []string{"nowake.ai/svc-lb-mux/reconciler/run", "sigs.k8s.io/controller-runtime"} {
				if strings.Contains(stack, of) {
					return errors.New("a goroutine still runs:\n" + stack)
				}
			}
		}
		return nil
	})
}
