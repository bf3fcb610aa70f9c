package reconciler

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	reconciler "nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// TestTrialAndDrainProcessesEnd runs the processes that do one thing and end: a trial and a drain.
func TestTrialAndDrainProcessesEnd(t *testing.T) {
	t.Parallel()
	s := &scene{world: start(t, cluster.Helm())}
	s.restrain(t)
	s.proxy = s.through(t)
	t.Run("a trial creates and deletes a channel", func(t *testing.T) { s.tries(t) })
	t.Run("a trial reports a fault", func(t *testing.T) { s.triesInVain(t) })
	t.Run("a drain leaves ledgers, and the next reconciler gives the same numbers", func(t *testing.T) { s.drains(t) })
	t.Run("an interrupted drain can be continued", func(t *testing.T) { s.drainsInPieces(t) })
	t.Run("a drain waits for the lease, and names its holder", func(t *testing.T) { s.waitsForTheLease(t) })
	t.Run("a drain takes the lease of a deleted pod", func(t *testing.T) { s.inheritsTheLease(t) })
	t.Run("a drain leaves a frozen mux as it is", func(t *testing.T) { s.drainsWhatItMay(t) })
	t.Run("a drain skips channels that it can't clean, and names them", func(t *testing.T) { s.drainsAround(t) })
	t.Run("a drain has a dry run", func(t *testing.T) { s.drainsDry(t) })
}

// once runs a process that ends by itself, and returns its output and its error.
func (s *scene) once(t *testing.T, edits ...func(*reconciler.Process)) (string, error) {
	t.Helper()
	r := s.reconcile(t, append([]func(*reconciler.Process){func(p *reconciler.Process) {
		p.Config = s.proxy.Config()
		p.Options.Patience = 30 * time.Second
	}}, edits...)...)
	r.mayFail.Store(true)
	select {
	case err := <-r.ended:
		r.ended <- err
		return r.log.String(), err
	case <-time.After(3 * time.Minute):
		t.Fatal("the process doesn't end")
		return "", nil
	}
}

func drained(p *reconciler.Process) { p.Options.Drain = true }

// trying sets up a trial with another user's rights: the reconciler itself may not create Services.
func (s *scene) trying(mux string) func(*reconciler.Process) {
	return func(p *reconciler.Process) {
		p.Config = rest.CopyConfig(s.Config)
		p.Config.Impersonate = rest.ImpersonationConfig{}
		p.Options.TryChannel, p.Options.Patience = mux, 10*time.Second
	}
}

// expect checks that a process ended without an error, and printed all of the words.
func expect(t *testing.T, said string, err error, words ...string) {
	t.Helper()
	if err != nil {
		t.Fatalf("the process ended with %v, and printed:\n%s", err, said)
	}
	for _, word := range words {
		if !strings.Contains(said, word) {
			t.Errorf("the output lacks %q:\n%s", word, said)
		}
	}
}

func expectFailure(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("the process ended without an error")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error %q lacks %q", err, word)
		}
	}
}

// drains drains two muxes with everything that belongs to them, drains again, and starts a reconciler.
func (s *scene) drains(t *testing.T) {
	mux, other := s.mux(t, "mux", annotated("port-range", "20000-20099")), s.mux(t, "other")
	first := s.again(t)
	web := s.channel(t, "app", "web", mux, selectorless, annotated("external-dns-hostname", "web.example.com"))
	s.awaitServed(t, web, "http:80->20000")
	api := s.channel(t, "app", "api", mux, port("https", 443, "TCP"))
	bye := s.channel(t, "app", "bye", mux)
	far := s.channel(t, "app", "far", other)
	lost := s.channel(t, "app", "lost", types.NamespacedName{Namespace: muxNamespace, Name: "nowhere"})
	s.awaitServed(t, api, "https:443->443")
	s.awaitServed(t, far, "http:80->20000")
	s.awaitServed(t, bye, "http:80->20001")
	s.awaitRefused(t, lost, "MuxNotFound")
	s.backends(t, web, "web-1", "http:8080", "10.1.0.1")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.1.0.1")
	s.update(t, mux, func(svc *corev1.Service) {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "own", Port: 9000, Protocol: "TCP"})
	})
	first.stop()
	was := s.claims(t, mux)

	said, err := s.once(t, drained)
	expect(t, said, err, "mux svc-mux/mux: cleaned 3 channel(s), removed 3 port(s) and 1 slice(s); "+
		"its ledger keeps 3 number(s)\n",
		"mux svc-mux/other: cleaned 1 channel(s), removed 1 port(s) and 0 slice(s); its ledger keeps 1 number(s)\n",
		"mux svc-mux/nowhere: cleaned 1 channel(s)")
	for _, channel := range []types.NamespacedName{web, api, bye, far, lost} {
		s.checkBare(t, channel)
	}
	s.checkDrained(t, mux, "9000/TCP")
	s.checkDrained(t, other, "101/TCP")
	if now := s.claims(t, mux); !slices.Equal(now, was) {
		t.Errorf("the ledger changed from %q to %q", was, now)
	}

	before := s.writes(anything)
	said, err = s.once(t, drained)
	expect(t, said, err, "mux svc-mux/mux: cleaned 0 channel(s), removed 0 port(s)")
	if after := s.writes(anything); after != before {
		t.Errorf("the second drain wrote %d times", after-before)
	}

	s.delete(t, bye)
	late := s.channel(t, "app", "aaa", mux) // its name sorts before the others
	second := s.again(t)
	s.awaitServed(t, web, "http:80->20000")
	s.awaitServed(t, api, "https:443->443")
	s.awaitServed(t, far, "http:80->20000")
	s.awaitServed(t, late, "http:80->20002") // a released number isn't reassigned at once
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.1.0.1")
	second.stop()
	s.clear(t, web, api, far, lost, late, mux, other)
}

// checkBare doesn't wait: the drain has ended.
func (s *scene) checkBare(t *testing.T, channel types.NamespacedName) {
	t.Helper()
	svc := s.get(t, channel)
	if note := svc.Annotations[prefix+"/ports"]; len(svc.Status.Conditions) > 0 || address(svc) != "" || note != "" {
		t.Errorf("%s still has %v, %q and %q", channel, svc.Status.Conditions, address(svc), note)
	}
}

func (s *scene) checkDrained(t *testing.T, mux types.NamespacedName, ports ...string) {
	t.Helper()
	svc := s.get(t, mux)
	if got := publicOf(svc); !slices.Equal(got, ports) {
		t.Errorf("%s has ports %v, want %v", mux, got, ports)
	}
	for key, value := range svc.Annotations {
		if key != prefix+"/multiplexer" && key != prefix+"/port-range" {
			t.Errorf("%s still has %s: %q", mux, key, value)
		}
	}
	if left := s.slicesOn(t, mux); len(left) > 0 {
		t.Errorf("%s still has %d slices", mux, len(left))
	}
}

// clear deletes all Services of a scene before the next part.
func (s *scene) clear(t *testing.T, services ...types.NamespacedName) {
	t.Helper()
	for _, service := range services {
		s.delete(t, service)
	}
}

// tries runs trials on a mux with an address, and on one without.
func (s *scene) tries(t *testing.T) {
	mux := s.mux(t, "tried")
	poor := s.mux(t, "poor", func(svc *corev1.Service) {
		class := "example.com/none"
		svc.Spec.LoadBalancerClass = &class
	})
	run := s.again(t)
	defer run.stop()
	_, err := s.once(t, s.trying("tried"))
	expectFailure(t, err, "admission isn't on guard")

	s.guard(t)
	said, err := s.once(t, s.trying("tried"))
	expect(t, said, err, "admission is on guard", "made channel svc-mux/svc-lb-mux-try-", "it has 203.0.113.",
		"port 20000/TCP",
		"took the channel away, and its port is off the mux")
	s.awaitPublic(t, mux, "101/TCP")
	said, err = s.once(t, s.trying("poor.svc-mux"))
	expect(t, said, err, "it has port 20000/TCP; the mux has no address from its provider")
	s.noneLeft(t)
	s.clear(t, mux, poor)
}

// guard denies what the webhook denies, with its message.
func (s *scene) guard(t *testing.T) {
	t.Helper()
	s.Apply(t, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: names}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [services]}]}
  validations: [{expression: 'object.spec.ports.all(p, has(p.name))',
    message: 'port 80/TCP has no name: give it one, such as name: http'}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: names}
spec: {policyName: names, validationActions: [Deny]}
`)
	cluster.Eventually(t, "a Service whose port has no name is refused", func(ctx context.Context) error {
		svc := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "unnamed"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}
		_, err := s.user.CoreV1().Services(muxNamespace).Create(ctx, svc, metav1.CreateOptions{DryRun: []string{"All"}})
		if err == nil {
			return errors.New("the policy isn't in force yet")
		}
		return nil
	})
}

// noneLeft checks that trials deleted their channels.
func (s *scene) noneLeft(t *testing.T) {
	t.Helper()
	list, err := s.user.CoreV1().Services(muxNamespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if strings.HasPrefix(list.Items[i].Name, "svc-lb-mux-try-") {
			t.Errorf("a trial left %s", list.Items[i].Name)
		}
	}
}
