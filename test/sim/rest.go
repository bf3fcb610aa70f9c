package sim

import (
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/mux"
	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/test/sim/api"
	"nowake.ai/svc-lb-mux/validation"
)

// How long it may take until nothing is written any more, and how long that is looked at. The longest pause between two
// corrections is five minutes, and a number is held for ten at most.
const (
	unrest = 40 * time.Minute
	rest   = 15 * time.Minute
	// most is how many writes of ours are enough for that, whatever happened before; as long as policies stand, twice as many, for what
	// they refuse is tried every five minutes, reserved and let go again.
	most = 400
	// mostRefused is how many requests may be refused meanwhile: a mux that takes nothing is tried every ten seconds, whole and in
	// parts, and there are two.
	mostRefused = 2 * 6 * int((unrest+rest)/(10*time.Second))
)

// settle has everything flow again, with one process that leads, and sees whether it comes to rest; or, as long as policies stand,
// whether what they forbid is tried ever more seldom.
func (s *Sim) settle() string {
	s.habits = habits{slow: s.habits.slow}
	s.happen(-1, s.world.mend)
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

// oneLeads ends all processes but one, at times all of them, and has one lead.
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

// forward is what can happen without anybody doing anything.
func (s *Sim) forward() []choice {
	list := append(s.requests(), s.deliveries()...)
	list = append(list, s.work()...)
	for _, orphan := range s.server.Orphans() {
		list = append(list, choice{1, func() string { return s.collect(&orphan) }})
	}
	return list
}

// atRest is what must be so once nothing happens any more: what is there is what would be decided from it.
func (s *Sim) atRest() string {
	for _, key := range muxes() {
		if broken := s.muxAtRest(key); broken != "" {
			return fmt.Sprintf("at rest, %s (mux %s)", broken, key)
		}
	}
	for _, key := range s.server.Keys(api.Services) {
		if broken := s.serviceAtRest(s.world.service(key)); broken != "" {
			return fmt.Sprintf("at rest, %s (%s)", broken, key)
		}
	}
	return s.slicesAtRest()
}

func (s *Sim) isMux(svc *corev1.Service) bool {
	return svc != nil && s.language.Classify(svc).Mux() && svc.Spec.Type == corev1.ServiceTypeLoadBalancer
}

// muxAtRest asks the plan itself, of the world as it is.
func (s *Sim) muxAtRest(key types.NamespacedName) string {
	svc := s.world.service(key)
	if !s.isMux(svc) {
		return ""
	}
	declares := plan.DeclaresPlaceholder(svc)
	mux.Trim(svc, s.language, nil)
	w := plan.World{Now: s.processes[0].now(), Keys: s.language.Keys(), Key: key, Mux: plan.ReadMux(s.language, svc, declares)}
	for _, other := range s.server.Keys(api.Services) {
		channel := s.world.service(other)
		if !s.language.Classify(channel).Channel() {
			continue
		}
		if named, ok := s.language.ParseClass(*channel.Spec.LoadBalancerClass); ok && named == key {
			seen := plan.ReadChannel(s.language, channel)
			seen.Backends = plan.CarriedBacking(s.carried(key, other), s.sources(other), plan.CarriedIn(seen.Ports), w.Mux.Families)
			w.Channels = append(w.Channels, seen)
		}
	}
	cm, _ := s.server.Peek(api.ConfigMaps, types.NamespacedName{Namespace: key.Namespace, Name: w.Mux.Ledger}).(*corev1.ConfigMap)
	w.Ledger = plan.Reading{Condition: plan.Missing, Name: w.Mux.Ledger}
	if cm != nil {
		w.Ledger = ledger.Decode(cm, key, s.language.Keys())
	}
	p := plan.Mux(w)
	if len(p.Confirm) > 0 {
		w.Live = map[types.NamespacedName]plan.Liveness{}
		for _, gone := range p.Confirm { // they aren't among the channels, so they aren't its channels
			w.Live[gone] = plan.Gone
		}
		p = plan.Mux(w)
	}
	switch {
	case p.Freeze != nil:
		return "frozen: " + p.Freeze.Message
	case !p.Empty():
		return fmt.Sprintf("something to do: reserve %v hide %v publish %v settle %v show %v",
			p.Reserve, p.Hide, p.Publish, p.Settle, p.Show)
	}
	return s.claimsAtRest(svc, &w.Ledger.Ledger)
}

func (s *Sim) claimsAtRest(mux *corev1.Service, l *plan.Ledger) string {
	live := slotsOf(mux)
	for i := range l.Claims {
		claim := &l.Claims[i]
		svc := s.world.service(claim.Owner.Channel)
		disabled := svc != nil && svc.Annotations[s.language.Keys().Disabled] == "true"
		if on := live[claim.Slot()] == claim.MuxName; on != (claim.State == plan.Held && !disabled) {
			return fmt.Sprintf("claims: %s of %s is %s, and on the mux: %t", claim.Slot(), claim.Owner.Channel, claim.State, on)
		}
		if claim.State == plan.Held && !s.mayHold(mux, svc, claim) || claim.State == plan.Releasing {
			return fmt.Sprintf("claims: %s is %s for %s", claim.Slot(), claim.State, claim.Owner.Channel)
		}
	}
	if stamp := s.promises.stamp(client.ObjectKeyFromObject(mux)); l.Generation > 0 && stamp != l.Generation {
		return fmt.Sprintf("stamp: the mux has generation %d, and its ledger %d", stamp, l.Generation)
	}
	for slot, name := range live {
		owner, ours := s.promises.owners[called{client.ObjectKeyFromObject(mux), name}]
		held := slices.ContainsFunc(l.Claims, func(c plan.Claim) bool { return c.Slot() == slot && c.MuxName == name })
		if ours && !held && !s.promises.nobodys(place{client.ObjectKeyFromObject(mux), slot, name}) {
			return fmt.Sprintf("ports: %s is there as %s's, who doesn't hold it", slot, owner)
		}
	}
	return ""
}

// mayHold is true if a channel is there that has such a port for that mux, or whose ports can't be understood.
func (s *Sim) mayHold(mux, svc *corev1.Service, claim *plan.Claim) bool {
	if svc == nil || svc.DeletionTimestamp != nil || !s.language.Classify(svc).Channel() {
		return false
	}
	channel := plan.ReadChannel(s.language, svc)
	named := func(port validation.ChannelPort) bool {
		return port.Name == claim.Owner.Name && port.Protocol == claim.Owner.Protocol
	}
	return channel.Mux == client.ObjectKeyFromObject(mux) && plan.ReadMux(s.language, mux, false).Namespaces.Allows(svc.Namespace) &&
		(len(channel.Problems) > 0 || slices.ContainsFunc(channel.Ports, named))
}

// inForce are the claims of the ledger that a mux names: once it has moved, another one doesn't count, though it may lie there still.
func (s *Sim) inForce(mux types.NamespacedName) []plan.Claim {
	svc := s.world.service(mux)
	if svc == nil {
		return nil
	}
	name := plan.ReadMux(s.language, svc, false).Ledger
	cm, is := s.server.Peek(api.ConfigMaps, types.NamespacedName{Namespace: mux.Namespace, Name: name}).(*corev1.ConfigMap)
	if !is {
		return nil
	}
	read, _, _ := s.promises.reading(cm)
	return read.Claims
}

// serviceAtRest: a channel shows an address exactly if its ports are on a mux that has one; everybody else is clean.
func (s *Sim) serviceAtRest(svc *corev1.Service) string {
	keys := s.language.Keys()
	kind := s.language.Classify(svc)
	ours := 0
	for _, condition := range svc.Status.Conditions {
		if condition.Type == keys.Accepted || condition.Type == keys.Programmed || condition.Type == keys.BackendsReady {
			ours++
		}
	}
	if !kind.Channel() {
		if ours > 0 || svc.Annotations[keys.Ports] != "" {
			return "stray: it is no channel, and isn't clean"
		}
		return ""
	}
	named, _ := s.language.ParseClass(*svc.Spec.LoadBalancerClass)
	mux := s.world.service(named)
	on := false
	var addresses []corev1.LoadBalancerIngress
	if s.isMux(mux) && mux.DeletionTimestamp == nil && len(mux.Status.LoadBalancer.Ingress) > 0 {
		addresses = mux.Status.LoadBalancer.Ingress
		live := slotsOf(mux)
		claims := s.inForce(named)
		for _, claim := range claims {
			on = on || claim.Owner.Channel == client.ObjectKeyFromObject(svc) && live[claim.Slot()] == claim.MuxName
		}
	}
	if shows := len(svc.Status.LoadBalancer.Ingress) > 0; shows != on {
		return fmt.Sprintf("address: it shows one: %t, and has ports on a mux with an address: %t", shows, on)
	}
	same := func(a, b corev1.LoadBalancerIngress) bool { return a.IP == b.IP && a.Hostname == b.Hostname }
	if on && !slices.EqualFunc(svc.Status.LoadBalancer.Ingress, addresses, same) {
		return fmt.Sprintf("address: it shows %v, and the mux has %v", svc.Status.LoadBalancer.Ingress, addresses)
	}
	if ours < 2 && svc.DeletionTimestamp == nil {
		return fmt.Sprintf("conditions: it has %d of our conditions", ours)
	}
	return ""
}

// amidPolicies is what must be so while policies stand: what they forbid harms who asks for it, and nobody else. A mux that has a
// forbidden number, or no room for its ledger, can't be written at all.
func (s *Sim) amidPolicies() string {
	for _, key := range muxes() {
		svc := s.world.service(key)
		if !s.isMux(svc) || s.policies.noLedgers || s.promises.frozen(svc, nil) != "" || s.forbidden(key, []byte("{}")) != "" {
			continue
		}
		claims, _, sure := s.promises.claims(key)
		if !sure {
			continue
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
			owner := s.world.service(channel)
			if has[channel] != len(owner.Spec.Ports) {
				continue // what else it asks for is refused
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
