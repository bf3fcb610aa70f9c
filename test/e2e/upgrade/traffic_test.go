package upgrade

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/dataplane/packets"
)

// perStream is the pause that each stream adds to all others: the rate of requests doesn't depend on the number of
// channels.
const perStream = 10 * time.Millisecond

func at(ip string, number int) string { return net.JoinHostPort(ip, strconv.Itoa(number)) }

// podsOf returns a function that says whether a pod belongs to a team's Deployment.
func podsOf(namespace string) func(string) bool {
	return func(pod string) bool { return strings.HasPrefix(pod, namespace+"-") }
}

// traffic sends requests to every channel without pause.
type traffic struct {
	load       *packets.Load
	passed     *cluster.PassedBy
	allowances cluster.Allowances // connections that passed kube-proxy's rules
}

// ask starts once every channel answers: the first TCP port over new connections, and UDP ports with datagrams.
func (w *world) ask(t *testing.T, all []*channel) *traffic {
	t.Helper()
	var streams []packets.Stream
	for _, c := range all {
		streams = append(streams, w.streams(c)...)
	}
	var numbers []string
	for i := range streams {
		streams[i].Pause = time.Duration(len(streams)) * perStream
		w.answers(t, streams[i])
		if _, number, err := net.SplitHostPort(streams[i].Address); err == nil && streams[i].Kind != packets.Datagrams {
			numbers = append(numbers, number)
		}
	}
	passed, err := w.CountPassedBy(t.Context(), numbers...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := passed.End(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return &traffic{load: packets.Start(t.Context(), w.Outside(), streams...), passed: passed}
}

func (w *world) streams(c *channel) (streams []packets.Stream) {
	asked := map[corev1.Protocol]bool{}
	for _, p := range c.ports {
		if asked[p.protocol] {
			continue
		}
		asked[p.protocol] = true
		kind := packets.NewConnections
		if p.protocol == corev1.ProtocolUDP {
			kind = packets.Datagrams
		}
		streams = append(streams,
			packets.Stream{Name: c.id(), Kind: kind, Address: at(c.address, p.number), Right: podsOf(c.namespace)})
	}
	return streams
}

func (w *world) answers(t *testing.T, s packets.Stream) {
	t.Helper()
	cluster.Eventually(t, s.Name+" is answered at "+s.Address, func(ctx context.Context) error {
		question := packets.HTTP
		if s.Kind == packets.Datagrams {
			question = packets.UDP
		}
		pod, err := question(ctx, w.Outside(), s.Address)
		if err == nil && !s.Right(pod) {
			t.Errorf("for %s at %s, %q answers", s.Name, s.Address, pod)
		}
		return err
	})
}

// check fails the test for each lost request. It excuses connections that passed kube-proxy's rules while every number
// was on its mux: the kernel counts those, and they end with "no route to host". If a number was missing, the same
// error is our fault.
func (r *traffic) check(t *testing.T, w *world, n *numbers) {
	t.Helper()
	passed, err := r.passed.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.allowances = append(r.allowances, passed...)
	asked, lost := 0, 0
	r.load.AwaitAnswers()
	for _, count := range r.load.Take() {
		asked += count.Asked
		for _, loss := range count.Lost {
			noRoute := n.calm() && strings.HasSuffix(loss.Why.Error(), cluster.NoRoute)
			if noRoute && r.allowances.Excuse(loss.Asked) {
				t.Logf("%s: channel %s: a request passed kube-proxy's rules: %s", w.phase(), count.Stream.Name, loss)
				continue
			}
			lost++
			t.Errorf("%s: channel %s lost a request to %s (%s): %s", w.phase(), count.Stream.Name, count.Stream.Address,
				count.Stream.Kind, loss)
		}
		if count.Asked == 0 {
			t.Errorf("%s: no request was sent to channel %s at %s", w.phase(), count.Stream.Name, count.Stream.Address)
		}
	}
	t.Logf("%s: %d requests, %d lost", w.phase(), asked, lost)
}

func (r *traffic) end(t *testing.T, w *world, n *numbers) {
	t.Helper()
	r.load.End()
	r.check(t, w, n)
}
