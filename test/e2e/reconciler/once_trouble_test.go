package reconciler

import (
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	reconciler "nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/faults"
)

func anything(r faults.Request) bool { return r.Resource != "events" }

// triesInVain runs trials with each possible fault. The last one is that no reconciler runs.
func (s *scene) triesInVain(t *testing.T) {
	s.guard(t)
	unranged := s.mux(t, "unranged", annotated("port-range", ""), func(svc *corev1.Service) {
		delete(svc.Annotations, prefix+"/port-range")
	})
	closed := s.mux(t, "closed", annotated("allowed-namespaces", "team-a"))
	broken := s.mux(t, "broken", annotated("max-ports", "many"))
	lonely := s.mux(t, "lonely")
	plain := s.create(t, &corev1.Service{}, []edit{func(svc *corev1.Service) {
		svc.Namespace, svc.Name, svc.Spec.Ports = muxNamespace, "plain", []corev1.ServicePort{{Name: "http", Port: 80}}
	}})
	running := s.again(t)
	for mux, words := range map[string][]string{
		"missing":  {"there is no mux svc-mux/missing", "create it"},
		"plain":    {"svc-mux/plain is no mux", prefix + "/multiplexer"},
		"unranged": {"svc-mux/unranged has no range", prefix + "/port-range", "20000-20099"},
		"broken":   {"svc-mux/broken has a mistake", "many"},
		"closed":   {"was refused", "NamespaceNotAllowed"},
	} {
		_, err := s.once(t, s.trying(mux))
		expectFailure(t, err, words...)
	}
	running.stop()
	_, err := s.once(t, s.trying("lonely"), func(p *reconciler.Process) { p.Options.Patience = 2 * time.Second })
	expectFailure(t, err, "isn't programmed after 2s", "is the reconciler running")
	s.noneLeft(t)
	s.clear(t, unranged, closed, broken, lonely, plain)
}

// drainsInPieces interrupts a drain after each of its writes, until a drain has nothing left to do.
func (s *scene) drainsInPieces(t *testing.T) {
	mux := s.mux(t, "pieces", annotated("port-range", "21000-21099"))
	running := s.again(t)
	gap := s.channel(t, "pieces", "gap", mux) // so that the other channels don't have the lowest numbers
	s.awaitServed(t, gap, "http:80->21000")
	one := s.channel(t, "pieces", "one", mux, selectorless)
	s.awaitServed(t, one, "http:80->21001")
	two := s.channel(t, "pieces", "two", mux)
	s.awaitServed(t, two, "http:80->21002")
	s.delete(t, gap)
	s.awaitPublic(t, mux, "21001/TCP", "21002/TCP")
	s.backends(t, one, "one", "http:8080", "10.1.0.1")
	s.awaitCarried(t, mux, "21001/TCP 8080: 10.1.0.1")
	running.stop()
	s.deleteLedger(t, mux) // the drain must write the ledger before it removes ports, or the numbers are lost
	pieces := 0
	for ; ; pieces++ {
		if pieces > 20 {
			t.Fatal("the drain never ends")
		}
		if !s.drainsOnePiece(t) {
			break
		}
		if svc := s.get(t, mux); !slices.Contains(publicOf(svc), "21001/TCP") && address(s.get(t, one)) != "" {
			t.Errorf("%s shows %s, but its port is removed", one, address(s.get(t, one)))
		}
	}
	if pieces < 4 { // ledger, two channels, mux, slice: the last write isn't interrupted
		t.Errorf("the drain was interrupted only %d times, although it has more writes", pieces)
	}
	s.checkBare(t, one)
	s.checkBare(t, two)
	s.checkDrained(t, mux, "101/TCP")
	running = s.again(t)
	s.awaitServed(t, one, "http:80->21001")
	s.awaitServed(t, two, "http:80->21002")
	running.stop()
	s.clear(t, one, two, mux)
}

// drainsOnePiece runs a drain that is interrupted after its first write. It returns false if the drain needed no second
// write.
func (s *scene) drainsOnePiece(t *testing.T) bool {
	t.Helper()
	written := func(r faults.Request) bool { return r.IsWrite() && !faults.Leases(r) && anything(r) }
	rest := s.proxy.Add(faults.Rule{Match: faults.Match{Func: written}, Skip: 1, Do: faults.Drop()})
	_, err := s.once(t, drained, func(p *reconciler.Process) {
		p.Options.Patience, p.Options.Writes = 2*time.Second, 1
	})
	cut := rest.Hits() > 0
	rest.Remove()
	if cut != (err != nil) {
		t.Errorf("interrupted: %v, but the error is %v", cut, err)
	}
	return cut
}

func (s *scene) waitsForTheLease(t *testing.T) {
	mux := s.mux(t, "led", annotated("port-range", "22000-22099"))
	running := s.again(t)
	one := s.channel(t, "led", "one", mux)
	s.awaitServed(t, one, "http:80->22000")
	before := s.writes(anything)
	said, err := s.once(t, drained, func(p *reconciler.Process) { p.Options.Patience = 2 * time.Second })
	expectFailure(t, err, "given up after 2s", "the lease svc-mux/svc-lb-mux-reconciler, which", "holds",
		"scale --replicas=0")
	if !strings.Contains(said, "waiting for the lease") {
		t.Errorf("the output is %q", said)
	}
	if after := s.writes(anything); after != before {
		t.Errorf("the drain wrote %d times while another process led", after-before)
	}
	time.AfterFunc(2*time.Second, running.stop)
	said, err = s.once(t, drained)
	expect(t, said, err, "mux svc-mux/led: cleaned 1 channel(s), removed 1 port(s)")
	s.clear(t, one, mux)
}

// inheritsTheLease uses a lease that lasts for an hour. It is free once its holder's pod is gone.
func (s *scene) inheritsTheLease(t *testing.T) {
	const lease = "svc-mux-inherited"
	mux := s.mux(t, "inherited", annotated("port-range", "22500-22599"))
	now, span := metav1.NewMicroTime(time.Now()), int32(3600)
	set := s.user.CoordinationV1().Leases(muxNamespace)
	_, err := s.user.CoreV1().Pods(muxNamespace).Create(t.Context(),
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: lease + "-5d4-there"},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		holder string
		free   bool
	}{
		"a deleted pod":                      {lease + "-5d4-x7k_1", true},
		"an existing pod":                    {lease + "-5d4-there_1", false},
		"a prefix of an existing pod's name": {lease + "-5d4-the_1", false},
		"a process outside of the cluster":   {"laptop_1", false},
	} {
		holder := tc.holder
		_, err := set.Create(t.Context(),
			&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: lease}, Spec: coordinationv1.LeaseSpec{
				HolderIdentity: &holder, LeaseDurationSeconds: &span, AcquireTime: &now, RenewTime: &now}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.once(t, drained, func(p *reconciler.Process) {
			p.Config = s.unrestrained() // the reconciler's own account may not list pods
			p.Options.LeaseName, p.Options.LeaseDuration = lease, time.Hour
			if !tc.free {
				p.Options.Patience = 2 * time.Second
			}
		})
		if (err == nil) != tc.free {
			t.Errorf("%s: %v", name, err)
		}
		if !tc.free {
			expectFailure(t, err, "given up after 2s", holder+" holds")
		}
		if err := set.Delete(t.Context(), lease, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.clear(t, mux)
}

// drainsWhatItMay drains two muxes, one of which is frozen.
func (s *scene) drainsWhatItMay(t *testing.T) {
	frozen, fine := s.mux(t, "frozen", annotated("port-range", "23000-23099")), s.mux(t, "fine",
		annotated("port-range", "24000-24099"))
	running := s.again(t)
	stays, goes := s.channel(t, "may", "stays", frozen, selectorless), s.channel(t, "may", "goes", fine)
	s.awaitServed(t, stays, "http:80->23000")
	s.awaitServed(t, goes, "http:80->24000")
	s.backends(t, stays, "stays", "http:8080", "10.1.0.1")
	s.awaitCarried(t, frozen, "23000/TCP 8080: 10.1.0.1")
	running.stop()
	s.writeLedger(t, frozen, map[string]string{"allocations.json": "{"})
	said, err := s.once(t, drained)
	expectFailure(t, err, "mux svc-mux/frozen is frozen, and keeps its ports", "drain again")
	expect(t, said, nil, "mux svc-mux/frozen: left as it is: PortAllocationStoreInvalid",
		"mux svc-mux/fine: cleaned 1 channel(s), removed 1 port(s)")
	s.checkBare(t, goes)
	s.awaitServed(t, stays, "http:80->23000")
	s.awaitCarried(t, frozen, "23000/TCP 8080: 10.1.0.1")

	s.deleteLedger(t, frozen)
	said, err = s.once(t, drained)
	expect(t, said, err, "mux svc-mux/frozen: cleaned 1 channel(s), removed 1 port(s) and 1 slice(s); "+
		"its ledger keeps 1 number(s)")
	s.awaitClaims(t, frozen, "23000/TCP may/stays http auto")
	s.clear(t, stays, goes, frozen, fine)
}

// drainsAround uses a channel whose status can't be written. Everything else must be drained, and the output must name
// the channel.
func (s *scene) drainsAround(t *testing.T) {
	const namespace = "around"
	mux, other := s.mux(t, "around", annotated("port-range", "26000-26099")), s.mux(t, "around-2",
		annotated("port-range", "26500-26599"))
	running := s.again(t)
	fine, beside, mute := s.channel(t, namespace, "fine", mux), s.channel(t, namespace, "beside", other), s.channel(t,
		namespace, "mute", other)
	s.awaitServed(t, fine, "http:80->26000")
	s.awaitServed(t, beside, "http:80->26500")
	s.awaitServed(t, mute, "http:80->26501")
	running.stop()
	writes := s.proxy.Add(faults.Rule{
		Match: faults.Match{Verbs: []string{"patch"}, Resource: "services/status", Namespace: namespace, Name: mute.Name},
		Do:    faults.Answer(403),
	})
	said, err := s.once(t, drained, func(p *reconciler.Process) { p.Options.Patience = 6 * time.Second })
	expectFailure(t, err, "given up after 6s", "around/mute")
	s.checkBare(t, fine)
	s.checkBare(t, beside)
	if address(s.get(t, mute)) == "" {
		t.Errorf("%s is clean, but the output is:\n%s", mute, said)
	}
	if got := publicOf(s.get(t, other)); len(got) != 1 {
		t.Errorf("%s has ports %v", other, got)
	}
	writes.Remove()
	said, err = s.once(t, drained)
	expect(t, said, err)
	s.checkDrained(t, mux, "101/TCP")
	s.checkDrained(t, other, "101/TCP")
	s.clear(t, fine, beside, mute, mux, other)
}

func (s *scene) drainsDry(t *testing.T) {
	mux := s.mux(t, "dry", annotated("port-range", "25000-25099"))
	running := s.again(t)
	one := s.channel(t, "dry", "one", mux, selectorless)
	s.awaitServed(t, one, "http:80->25000")
	s.backends(t, one, "one", "http:8080", "10.1.0.1")
	s.awaitCarried(t, mux, "25000/TCP 8080: 10.1.0.1")
	s.quiet(t, time.Second)
	before := s.writes(anything)
	// a dry run doesn't need the lease
	said, err := s.once(t, drained, func(p *reconciler.Process) { p.Options.DryRun = "true" })
	expect(t, said, err, "hide dry/one: the address goes", "publish on svc-mux/dry", "delete EndpointSlice svc-mux/")
	if after := s.writes(anything); after != before {
		t.Errorf("the dry run wrote %d times", after-before)
	}
	running.stop()
	s.clear(t, one, mux)
}
