package upgrade

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// numbers watches all Services, so that a number that moves and moves back is seen, too.
type numbers struct {
	world    *world
	channels map[string]*channel   // by namespace and name
	onMux    map[string][]*channel // by the mux's namespace and name
	stop     context.CancelFunc
	done     sync.WaitGroup

	mu       sync.Mutex
	seen     int
	troubles []string
}

func (w *world) watchNumbers(t *testing.T, all []*channel) *numbers {
	t.Helper()
	n := &numbers{world: w, channels: map[string]*channel{}, onMux: map[string][]*channel{}}
	for _, c := range all {
		n.channels[c.id()] = c
		n.onMux[c.muxID()] = append(n.onMux[c.muxID()], c)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	n.stop = stop
	t.Cleanup(stop)
	n.done.Go(func() {
		for ctx.Err() == nil {
			n.follow(ctx)
		}
	})
	return n
}

// follow watches until the API server ends the watch, as it does after half an hour or more. Each watch begins with all
// Services as they are.
func (n *numbers) follow(ctx context.Context) {
	events, err := n.world.Client.CoreV1().Services(metav1.NamespaceAll).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		time.Sleep(100 * time.Millisecond)
		return
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		n.note(event)
	}
}

func (n *numbers) note(event watch.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	svc, isService := event.Object.(*corev1.Service)
	if !isService { // the last event is the reason for the watch's end
		return
	}
	n.seen++
	n.judgeChannel(event.Type, svc)
	n.judgeMux(event.Type, svc)
}

// report adds a finding with the phase. The mutex is held.
func (n *numbers) report(format string, args ...any) {
	n.troubles = append(n.troubles, n.world.phase()+": "+fmt.Sprintf(format, args...))
}

// judgeChannel notes a channel that is gone, has other numbers, or has no address. The mutex is held.
func (n *numbers) judgeChannel(kind watch.EventType, svc *corev1.Service) {
	c, known := n.channels[svc.Namespace+"/"+svc.Name]
	if !known {
		return
	}
	if kind == watch.Deleted {
		n.report("channel %s was deleted", c.id())
		return
	}
	if got := svc.Annotations[prefix+"/ports"]; got != c.note {
		n.report("the numbers of channel %s on mux %s moved from %q to %q", c.id(), c.muxID(), c.note, got)
	}
	if got := addressOf(svc); got != c.address {
		n.report("the address of channel %s on mux %s changed from %q to %q", c.id(), c.muxID(), c.address, got)
	}
}

// judgeMux notes each number of a channel that is missing on its mux. The mutex is held.
func (n *numbers) judgeMux(kind watch.EventType, svc *corev1.Service) {
	id := svc.Namespace + "/" + svc.Name
	have := map[port]bool{}
	for _, p := range svc.Spec.Ports {
		have[port{int(p.Port), p.Protocol}] = kind != watch.Deleted
	}
	for _, c := range n.onMux[id] {
		for _, p := range c.ports {
			if !have[p] {
				n.report("after %s, mux %s lacks %d/%s, which channel %s had", kind, id, p.number, p.protocol, c.id())
			}
		}
	}
}

// calm tells whether the watch has seen every number in its place so far.
func (n *numbers) calm() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.troubles) == 0
}

// end fails the test for what the watch saw. It prints the first ten findings.
func (n *numbers) end(t *testing.T) {
	t.Helper()
	n.stop()
	n.done.Wait()
	t.Logf("the watch saw %d changes of Services", n.seen)
	if n.seen == 0 {
		t.Error("the watch saw nothing")
	}
	for _, trouble := range n.troubles[:min(10, len(n.troubles))] {
		t.Error(trouble)
	}
	if more := len(n.troubles) - 10; more > 0 {
		t.Errorf("and %d more findings", more)
	}
}
