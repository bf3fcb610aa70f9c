package reconciler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	reconciler "nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/cluster/faults"
	"nowake.ai/svc-lb-mux/test/long"
)

// TestACrashAfterEachWrite runs a burst of changes, and kills the reconciler after each of its writes in turn. The next
// reconciler must reach the same end, without breaking a promise.
func TestACrashAfterEachWrite(t *testing.T) {
	t.Parallel()
	s := &scene{world: start(t, cluster.APIServerOnly(), cluster.Helm())}
	s.restrain(t)
	s.proxy = s.through(t)
	h := s.remember(t)
	r := &succession{scene: s, whole: t, run: s.alone(t)}
	count := r.crashAfter(t, "undisturbed", -1)
	if count < 20 {
		t.Fatalf("the burst took only %d writes", count)
	}
	step := 8
	if long.Runs() {
		step = 1
	}
	for n := 0; n <= count; n += step { // only some writes: in the simulation, processes die around every write
		if !t.Run(fmt.Sprintf("after %d of %d", n, count), func(t *testing.T) { r.crashAfter(t, fmt.Sprintf("c%d", n), n) }) {
			break
		}
	}
	checkPromises(t, h.soFar(t))
}

// succession runs one reconciler at a time through all parts of a test.
type succession struct {
	*scene
	whole *testing.T
	run   *running
}

// alone runs a reconciler through the proxy, without leader election.
func (s *scene) alone(t *testing.T) *running {
	t.Helper()
	return s.reconcile(t, func(p *reconciler.Process) {
		p.Config = s.proxy.Config()
		p.Options.LeaderElection = false
	})
}

// counted selects the writes that matter: not Events and leases.
func counted(r faults.Request) bool {
	return r.IsWrite() && r.Resource != "events" && !faults.Leases(r)
}

// crashAfter runs a burst with a crash after the given number of writes, or without a crash if negative. It returns the
// number of writes.
func (s *succession) crashAfter(t *testing.T, id string, writes int) int {
	t.Helper()
	b := s.burst(t, id)
	before := s.writes(counted)
	// Hold the watches, so that all changes arrive at once, and each run is like the others.
	hold := s.proxy.HoldWatches(faults.Match{Func: func(r faults.Request) bool {
		return r.Resource == "services" || r.Resource == "endpointslices"
	}})
	changes := b.begin(t)
	if err := hold.Wait(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	if writes >= 0 {
		crashed := make(chan struct{})
		crash := s.proxy.CrashAfter(writes, faults.Match{Func: counted}, func() {
			s.run.kill()
			close(crashed)
		})
		hold.Release()
		s.quiet(t, 300*time.Millisecond)
		select {
		case <-crashed:
		default:
			t.Logf("this run took %d writes", crash.Hits())
		}
		s.run.stop()
		crash.Remove()
		s.run = s.alone(s.whole)
	}
	hold.Release()
	b.awaitEnd(t)
	count := s.writes(counted) - before
	b.clean(t)
	return count
}

// burst has two muxes, and channels that are created, deleted, changed and moved.
type burst struct {
	*scene
	id   string
	a, b types.NamespacedName
}

// burst creates the state before the changes.
func (s *scene) burst(t *testing.T, id string) *burst {
	t.Helper()
	b := &burst{scene: s, id: id, a: s.mux(t, id+"-a"), b: s.mux(t, id+"-b")}
	b.attach(t, "anyway", b.a, "http:8080/TCP")
	b.attach(t, "gone1", b.a, "tcp:8001/TCP", "tcp:8001")
	b.attach(t, "gone2", b.a, "tcp:8002/TCP udp:8002/UDP", "tcp:8002,udp:8002")
	b.attach(t, "edited", b.a, "web:80/TCP admin:81/TCP", "web:8080,admin:auto")
	b.attach(t, "moved", b.a, "tcp:8003/TCP", "tcp:8003")
	b.attach(t, "paused", b.a, "tcp:8004/TCP", "tcp:8004")
	b.await(t, "before",
		"a 20000/TCP anyway http auto 10.0.0.1",
		"a 20001/TCP edited admin auto 10.0.0.1",
		"a 8001/TCP gone1 tcp static 10.0.0.1",
		"a 8002/TCP gone2 tcp static 10.0.0.1",
		"a 8002/UDP gone2 udp static 10.0.0.1",
		"a 8003/TCP moved tcp static 10.0.0.1",
		"a 8004/TCP paused tcp static 10.0.0.1",
		"a 8080/TCP edited web static 10.0.0.1",
		"b 101/TCP",
		"anyway http:8080->20000: Accepted Programmed HasBackends, address of a",
		"edited web:80->8080, admin:81->20001: Accepted Programmed HasBackends, address of a",
		"gone1 tcp:8001->8001: Accepted Programmed HasBackends, address of a",
		"gone2 tcp:8002->8002, udp:8002->8002: Accepted Programmed HasBackends, address of a",
		"moved tcp:8003->8003: Accepted Programmed HasBackends, address of a",
		"paused tcp:8004->8004: Accepted Programmed HasBackends, address of a",
	)
	return b
}

// begin makes the changes. It returns a lower bound for the number of changed Services and EndpointSlices.
func (b *burst) begin(t *testing.T) int {
	t.Helper()
	b.detach(t, "gone1")
	b.detach(t, "gone2")
	b.backends(t, b.key("anyway"), "anyway", "http:8080/TCP", "10.0.0.1", "10.0.0.2-")
	b.annotate(t, b.key("edited"), "external-ports", "web:9090,admin:auto")
	b.annotate(t, b.key("paused"), "disabled", "true")
	b.detach(t, "moved")
	b.attach(t, "moved", b.b, "tcp:8003/TCP")
	b.attach(t, "new1", b.a, "http:80/TCP")
	b.attach(t, "new2", b.a, "p2p:30303/TCP disc:30303/UDP")
	b.attach(t, "new3", b.a, "tcp:8500/TCP", "")
	b.attach(t, "new4", b.a, "tcp:80/TCP", "tcp:8001") // gone1's number
	b.attach(t, "new5", b.a, "udp:53/UDP")
	return 2*(3+1+5) + 3
}

func (b *burst) awaitEnd(t *testing.T) {
	t.Helper()
	b.await(t, "after",
		"a 20000/TCP anyway http auto 10.0.0.1 10.0.0.2-",
		"a 20000/UDP new5 udp auto 10.0.0.1",
		"a 20001/TCP edited admin auto 10.0.0.1",
		"a 20002/TCP new1 http auto 10.0.0.1",
		"a 20003/TCP new2 p2p auto 10.0.0.1",
		"a 20003/UDP new2 disc auto 10.0.0.1",
		"a 8001/TCP new4 tcp static 10.0.0.1",
		"a 8500/TCP new3 tcp static 10.0.0.1",
		"a 9090/TCP edited web static 10.0.0.1",
		"a ledger: 8004/TCP paused tcp static",
		"b 20000/TCP moved tcp auto 10.0.0.1",
		"anyway http:8080->20000: Accepted Programmed HasBackends, address of a",
		"edited web:80->9090, admin:81->20001: Accepted Programmed HasBackends, address of a",
		"moved tcp:8003->20000: Accepted Programmed HasBackends, address of b",
		"new1 http:80->20002: Accepted Programmed HasBackends, address of a",
		"new2 p2p:30303->20003, disc:30303->20003: Accepted Programmed HasBackends, address of a",
		"new3 tcp:8500->8500: Accepted Programmed HasBackends, address of a",
		"new4 tcp:80->8001: Accepted Programmed HasBackends, address of a",
		"new5 udp:53->20000: Accepted Programmed HasBackends, address of a",
		"paused tcp:8004->8004: False Disabled False Disabled , address of none",
	)
}

func (b *burst) key(channel string) types.NamespacedName {
	return types.NamespacedName{Namespace: b.id, Name: channel}
}

// attach creates a channel with a backend. Its ports are as in "http:80/TCP", and all numbers are auto unless given.
func (b *burst) attach(t *testing.T, name string, mux types.NamespacedName, ports string, external ...string) {
	t.Helper()
	edits := []edit{selectorless}
	var auto []string
	for word := range strings.FieldsSeq(ports) {
		p, number := endpointPort(t, word)
		edits = append(edits, port(*p.Name, number, *p.Protocol))
		auto = append(auto, *p.Name+":auto")
	}
	if len(external) == 0 {
		external = []string{strings.Join(auto, ",")}
	}
	if external[0] != "" {
		edits = append(edits, asks(external[0]))
	}
	b.backends(t, b.channel(t, b.id, name, mux, edits...), name, ports, "10.0.0.1")
}

func (b *burst) detach(t *testing.T, name string) {
	t.Helper()
	b.delete(t, b.key(name))
	if err := b.user.DiscoveryV1().EndpointSlices(b.id).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (b *burst) await(t *testing.T, when string, want ...string) {
	t.Helper()
	cluster.Eventually(t, b.id+" has the wanted state "+when, func(context.Context) error {
		if diff := cmp.Diff(want, b.is(t)); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}

// is returns the state as users see it: a line for each port of the muxes with its owner and its backends, and a line
// for each channel.
func (b *burst) is(t *testing.T) []string {
	t.Helper()
	lines := append(b.ofMux(t, "a", b.a), b.ofMux(t, "b", b.b)...)
	channels, err := b.user.CoreV1().Services(b.id).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	muxes := map[string]string{proxied(b.get(t, b.a)): "a", proxied(b.get(t, b.b)): "b", "": "none"}
	for i := range channels.Items {
		channel := &channels.Items[i]
		line := channel.Name + " " + channel.Annotations[prefix+"/ports"] + ":"
		for _, kind := range []string{"Accepted", "Programmed", "BackendsReady"} {
			line += " " + strings.TrimPrefix(condition(channel, kind), "True ")
		}
		lines = append(lines, line+", address of "+muxes[address(channel)])
	}
	return lines
}

// ofMux returns a line for each port of a mux, with its owner and its backends. It adds a line for each claim and each
// backend without such a port.
func (b *burst) ofMux(t *testing.T, short string, mux types.NamespacedName) []string {
	t.Helper()
	claims := map[string]string{}
	for _, claim := range b.claims(t, mux) {
		slot, owner, _ := strings.Cut(claim, " ")
		claims[slot] += " " + strings.TrimPrefix(owner, b.id+"/")
	}
	carried := map[string]string{}
	for _, line := range b.carried(t, mux) {
		words := strings.Fields(line)
		carried[words[0]] += " " + strings.Join(words[2:], " ")
	}
	var lines []string
	for _, slot := range b.public(t, mux) {
		lines = append(lines, short+" "+slot+claims[slot]+carried[slot])
		delete(claims, slot)
		delete(carried, slot)
	}
	for slot, owner := range claims {
		lines = append(lines, short+" ledger: "+slot+owner)
	}
	for slot, endpoints := range carried {
		lines = append(lines, short+" slices: "+slot+endpoints)
	}
	slices.Sort(lines)
	return lines
}

// clean deletes all objects of the burst.
func (b *burst) clean(t *testing.T) {
	t.Helper()
	channels, err := b.user.CoreV1().Services(b.id).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, channel := range channels.Items {
		b.detach(t, channel.Name)
	}
	b.delete(t, b.a)
	b.delete(t, b.b)
}
