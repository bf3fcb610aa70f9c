package sim

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/test/sim/api"
	"nowake.ai/svc-lb-mux/validation"
)

// TestPaceLimitsWritesOfAFlippingNumber changes a channel's external-ports twice a second for 10 minutes, and counts
// the writes of mux and ledger. Meanwhile a new channel of another namespace must get its port at once.
func TestPaceLimitsWritesOfAFlippingNumber(t *testing.T) {
	const span = 10 * time.Minute
	limit := budget.Limit{Burst: 30, Pace: 10 * time.Second}
	without, with := flip(t, budget.Limit{}, span), flip(t, limit, span)
	t.Logf("in %s, without a budget %+v; with %+v %+v", span, without, limit, with)
	most := limit.Burst + int(span/limit.Pace) + 1 // passes that change ports
	if with.ports > 2*most {
		t.Errorf("with a budget, the mux's ports are written %d times; want at most %d: each change, and each removal "+
			"after it", with.ports, 2*most)
	}
	if without.ports < 2*with.ports {
		t.Errorf("without a budget, the mux's ports are written only %d times, with a budget %d: the test shows no effect "+
			"of the budget", without.ports, with.ports)
	}
	if with.other > 5*time.Second {
		t.Errorf("the other namespace's channel waits %s for its port", with.other)
	}
}

type churn struct {
	ports, ledger int           // number of writes by the reconciler
	other         time.Duration // time until a channel of another namespace has its port
}

func flip(t *testing.T, limit budget.Limit, span time.Duration) (counted churn) {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, muxNamespace)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(*testing.T) {
		s := newSim(language, 1, nil, false)
		s.budget = limit
		defer s.killAll()
		s.world.begin()
		s.world.address(ownMuxes()[0], []corev1.LoadBalancerIngress{{IP: "203.0.113.10"}})
		s.admission.begin()
		s.newProcess(0).lead()
		synctest.Wait()
		counted = s.flip(span)
	})
	return counted
}

func (s *Sim) flip(span time.Duration) churn {
	tenant, other := types.NamespacedName{Namespace: "app", Name: "a"}, types.NamespacedName{Namespace: "other", Name: "b"}
	s.world.put(s.channelAsking(tenant, 203), false)
	begun, was := time.Now(), len(s.server.Changes(0))
	var came time.Time
	waited := time.Hour
	for n := 0; time.Since(begun) < span; n++ {
		svc := s.world.service(tenant)
		annotate(svc, s.world.key("external-ports"), fmt.Sprintf("x:%d", 203+n%2))
		s.world.put(svc, false)
		if came.IsZero() && time.Since(begun) > span/2 {
			came = time.Now()
			s.world.put(s.channelAsking(other, 300), false)
		}
		s.goOn(500 * time.Millisecond)
		if svc := s.world.service(other); svc != nil && len(svc.Status.LoadBalancer.Ingress) > 0 {
			waited = min(waited, time.Since(came))
		}
	}
	counted := s.churnSince(was)
	counted.other = waited
	return counted
}

func (s *Sim) channelAsking(key types.NamespacedName, number int) *corev1.Service {
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	svc.Spec.Type, svc.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, ptr.To(s.world.key("mux"))
	svc.Spec.AllocateLoadBalancerNodePorts = ptr.To(false)
	svc.Spec.Ports = []corev1.ServicePort{{Name: "x", Port: 80, Protocol: corev1.ProtocolTCP}}
	annotate(svc, s.world.key("external-ports"), fmt.Sprintf("x:%d", number))
	return svc
}

// goOn advances time, and does everything that becomes due.
func (s *Sim) goOn(span time.Duration) {
	until := time.Now().Add(span)
	for time.Now().Before(until) {
		if choices := s.forward(); len(choices) > 0 {
			s.happen(-1, choices[0].do)
			continue
		}
		next := s.nextDue()
		if next.IsZero() || next.After(until) {
			next = until
		}
		time.Sleep(time.Until(next))
	}
}

// churnSince counts the reconciler's writes in the log. It skips the first changes, as many as was says.
func (s *Sim) churnSince(was int) churn {
	var counted churn
	for _, c := range s.server.Changes(was) {
		before, isMux := c.Before.(*corev1.Service)
		after, lives := c.After.(*corev1.Service)
		switch {
		case c.By == "":
		case c.Kind == api.ConfigMaps:
			counted.ledger++
		case isMux && lives && c.Key.Name == "mux" && fmt.Sprint(before.Spec.Ports) != fmt.Sprint(after.Spec.Ports):
			counted.ports++
		}
	}
	return counted
}
