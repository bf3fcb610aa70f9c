package sim

import (
	"fmt"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
)

// unrest bounds the time until the reconciler stops writing, and rest is the time for which it must then stay quiet.
// The longest pause between two corrections is five minutes, and a number is in grace for at most ten.
const (
	unrest = 40 * time.Minute
	rest   = 15 * time.Minute
	// most bounds our writes until rest, whatever happened before. While policies stand, twice as many are allowed:
	// what they refuse is retried every five minutes, with a claim that is reserved and released again.
	most = 400
	// mostRefused bounds the refused requests until rest. A mux that can't be written is retried every ten seconds,
	// both in one write and in parts, and there are two muxes.
	mostRefused = 2 * 6 * int((unrest+rest)/(10*time.Second))
)

// settle ends all mishaps, lets one process lead, and checks that the cluster comes to rest. While policies stand, it
// checks instead that the number of writes and of refused requests is bounded.
func (s *Sim) settle() string {
	s.habits = habits{slow: s.habits.slow}
	s.happen(-1, s.world.mend)
	return s.calm()
}

// calm lets one process lead, and waits until it stops writing.
func (s *Sim) calm() string {
	s.happen(-1, s.oneLeads)
	began, written, refused, enough := time.Now(), 0, s.refused, most
	if s.policies.stand() {
		enough *= 2
	}
	last := began
	for turns := 0; time.Since(began) < unrest+rest; turns++ {
		if choices := s.forward(); len(choices) > 0 {
			s.happen(-1, choices[s.rng.IntN(len(choices))].do)
		} else {
			next := s.nextDue()
			if next.IsZero() {
				break
			}
			time.Sleep(time.Until(next))
		}
		for _, change := range s.server.Changes(s.checked) {
			if change.By != "" {
				written++
				last = time.Now()
			}
		}
		if broken := s.check(); broken != "" {
			return broken
		}
		if written > enough || last.Sub(began) > unrest && !s.policies.stand() {
			return fmt.Sprintf("quiet: after %s and %d writes there is no rest", time.Since(began), written)
		}
		if tried := s.refused - refused; tried > mostRefused {
			return fmt.Sprintf("quiet: within %s, %d requests were refused", time.Since(began), tried)
		}
		if turns > 50000 {
			return "quiet: nothing is written, and yet there is no rest"
		}
	}
	return ""
}

// oneLeads ends all processes except one, or sometimes all, and lets one lead.
func (s *Sim) oneLeads() string {
	if s.chance(30) {
		for len(s.processes) > 0 {
			s.kill(s.processes[0], nil)
		}
	}
	for len(s.processes) > 1 {
		s.kill(s.processes[s.rng.IntN(2)], nil)
	}
	if len(s.processes) == 0 {
		s.newProcess(0)
	}
	if p := s.processes[0]; !p.leading {
		p.lead()
	}
	synctest.Wait()
	return s.processes[0].name + " is the one that leads"
}

// forward returns what can happen without users and mishaps: requests, deliveries, work and garbage collection.
func (s *Sim) forward() []choice {
	list := append(s.requests(), s.deliveries()...)
	list = append(list, s.work()...)
	for _, orphan := range s.server.Orphans() {
		list = append(list, choice{1, func() string { return s.collect(&orphan) }})
	}
	return list
}

func (s *Sim) isMux(svc *corev1.Service) bool {
	return svc != nil && s.language.Classify(svc).Mux() && svc.Spec.Type == corev1.ServiceTypeLoadBalancer
}

// amidPolicies checks that standing policies harm only channels that ask for forbidden things. A mux that has a
// forbidden number, or can't store its ledger, can't be written at all.
func (s *Sim) amidPolicies() string {
	for _, key := range s.muxes() {
		svc := s.world.service(key)
		if !s.isMux(svc) || s.policies.noLedgers || s.promises.frozen(svc, nil) != "" ||
			s.forbidden(key, []byte("{}")) != "" {
			continue
		}
		// Leave out ledgers to which the mux doesn't lead: a former leader may have created one late, after the owner
		// named another.
		claims, _, sure := s.promises.claims(key, func(ledger types.NamespacedName) bool {
			return s.promises.leads(svc, ledger.Name)
		})
		if !sure {
			continue
		}
		if named, is := s.promises.named(key, types.NamespacedName{}, nil); is {
			claims = named.Claims // a second ConfigMap may be left over from a move that never reached the mux
		}
		harmed, has := map[types.NamespacedName]bool{}, map[types.NamespacedName]int{}
		for i := range claims {
			harmed[claims[i].Owner.Channel] = harmed[claims[i].Owner.Channel] || s.policies.numbers[claims[i].Public]
			if s.promises.asksNow(key, &claims[i]) {
				has[claims[i].Owner.Channel]++
			}
		}
		live := slotsOf(svc)
		for i := range claims {
			claim := &claims[i]
			channel := claim.Owner.Channel
			if harmed[channel] || s.policies.mute[channel] || !s.promises.asksNow(key, claim) {
				continue
			}
			if live[claim.Slot()] != claim.MuxName && !claimants.IsService(channel) {
				if _, ours := s.promises.owners[called{key, live[claim.Slot()]}]; live[claim.Slot()] == "" || ours {
					return fmt.Sprintf("harm: policies forbid nothing that %s asks for, and %s isn't on %s", channel, claim.Slot(),
						key)
				}
			}
			if !claimants.IsService(channel) {
				continue
			}
			owner := s.world.service(channel)
			if has[channel] != len(owner.Spec.Ports) {
				continue // its other ports are refused
			}
			taken := live[claim.Slot()]
			if _, ours := s.promises.owners[called{key, taken}]; taken != "" && !ours {
				continue // the mux's owner took the number before the claim reached the mux
			}
			shows := owner.Status.LoadBalancer.Ingress
			switch {
			case live[claim.Slot()] != claim.MuxName:
				return fmt.Sprintf("harm: policies forbid nothing that %s asks for, and %s isn't on %s", channel, claim.Slot(), key)
			case len(svc.Status.LoadBalancer.Ingress) > 0 && len(shows) == 0:
				return fmt.Sprintf("harm: policies forbid nothing that %s asks for, and it shows no address", channel)
			}
		}
	}
	return ""
}
