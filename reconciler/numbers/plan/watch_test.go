package plan_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// watch checks every write of a plan against the promises. It judges by the state that the process decided from, not by
// later changes of users.
type watch struct {
	world  plan.World
	memory plan.Memory
	mux    *plan.ObservedMux
	seen   map[types.NamespacedName]*plan.ObservedChannel
	// answered has the answers of live reads.
	answered map[types.NamespacedName]plan.Liveness
}

func (c *cluster) watched() *watch {
	w := &watch{world: c.world(), memory: c.memory(), seen: map[types.NamespacedName]*plan.ObservedChannel{},
		answered: maps.Clone(c.answered)}
	w.mux = w.world.Mux
	for i := range w.world.Channels {
		w.seen[w.world.Channels[i].Key] = &w.world.Channels[i]
	}
	return w
}

// moment is the state before a write.
type moment struct {
	ports  []corev1.ServicePort
	ranges []validation.MuxRange
	ledger *plan.Ledger
	good   bool
}

func (w *watch) before(c *cluster) moment {
	m := moment{good: c.condition == plan.Good}
	if mux := c.mux(); mux != nil {
		m.ports, m.ranges = slices.Clone(mux.Spec.Ports), c.ranges()
	}
	if c.ledger != nil {
		ledger := c.ledger.Clone()
		m.ledger = &ledger
	}
	return m
}

func (w *watch) after(c *cluster, p *plan.Plan, s *step, was moment) error {
	if p.Freeze != nil && (s.ledger != nil || s.publish != nil) {
		return errors.New("a frozen mux, or its ledger, is written")
	}
	switch {
	case s.ledger != nil:
		return w.ledgerWritten(c, &s.ledger.Ledger, was)
	case s.publish != nil:
		return w.published(c, s.publish, was)
	case s.channel == nil: // the step deletes the old ledger
		return nil
	}
	return w.channelWritten(c, p, s.channel)
}

// ledgerWritten checks a ledger: a number has one owner, and is free before it gets another one. A channel keeps its
// ports, and gets all that it asks for or nothing.
func (w *watch) ledgerWritten(c *cluster, now *plan.Ledger, was moment) error {
	claims := map[plan.Slot]*plan.Claim{}
	has := map[types.NamespacedName]int{}
	for i := range now.Claims {
		claim := &now.Claims[i]
		for _, slot := range numbersOf(claim) {
			claims[slot] = claim
		}
		c.names[claim.MuxName] = claim.Owner.Channel
		if claim.State == plan.Held {
			has[claim.Owner.Channel]++
		}
	}
	if was.ledger == nil || !was.good || len(was.ledger.Claims) == 0 {
		w.doubt(c, was)
	}
	if now.Generation < w.mux.Generation || was.ledger != nil && was.good && now.Generation < was.ledger.Generation {
		return fmt.Errorf("generation %d goes back", now.Generation)
	}
	if was.ledger != nil && was.good {
		for i := range was.ledger.Claims {
			old := &was.ledger.Claims[i]
			for _, slot := range numbersOf(old) {
				if is := claims[slot]; is != nil && is.Owner.Channel != old.Owner.Channel && !w.graceOver(was.ledger, old) {
					return fmt.Errorf("%s goes from %s (%s) to %s at once", slot, old.Owner.Channel, old.State, is.Owner.Channel)
				}
			}
		}
	}
	if err := w.heldForMissing(was, claims); err != nil {
		return err
	}
	had := map[types.NamespacedName]bool{}
	for slot, old := range c.established {
		had[old.Owner.Channel] = true
		is := claims[slot]
		if is != nil && is.State == plan.Held && is.Owner.Channel == old.Owner.Channel {
			c.established[slot] = *is
			continue
		}
		if !w.mayGo(&old, slot) {
			return fmt.Errorf("%s is taken from %s, who still asks for it", slot, old.Owner.Channel)
		}
		delete(c.established, slot)
	}
	for key, n := range has {
		if seen := w.seen[key]; seen != nil && !had[key] && n != len(seen.Ports) && was.good && was.ledger != nil &&
			len(was.ledger.Claims) > 0 {
			if !slices.ContainsFunc(was.ledger.Claims, func(c plan.Claim) bool { return c.Owner.Channel == key }) {
				return fmt.Errorf("%s gets %d of %d ports", key, n, len(seen.Ports))
			}
		}
	}
	return w.capped(c, now, was, had)
}

// doubt keeps only the promises that don't depend on a ledger: ports on the mux under derived names, of channels that
// the cache shows, and of listeners while the process hasn't read them yet.
func (w *watch) doubt(c *cluster, was moment) {
	maps.DeleteFunc(c.established, func(slot plan.Slot, claim plan.Claim) bool {
		unread := w.world.ListenersUnknown && isListener(claim.Owner.Channel)
		return w.seen[claim.Owner.Channel] == nil && !unread ||
			claim.MuxName != plan.DerivedName(claim.Owner) || !was.has(&claim)
	})
}

// has is true if a claim's port, or its range, was on the mux.
func (m *moment) has(claim *plan.Claim) bool {
	return slices.ContainsFunc(m.ports, func(p corev1.ServicePort) bool {
		return p.Name == claim.MuxName && SlotOf(&p) == claim.Slot() && claim.Last == 0
	}) || slices.ContainsFunc(m.ranges,
		func(r validation.MuxRange) bool { return r.Name == claim.MuxName && plan.SpanOf(r) == claim.Span() })
}

func (c *cluster) ranges() []validation.MuxRange {
	return validation.ParseRanges(c.mux().Annotations[c.language.Keys().Ranges])
}

// capped checks that no newcomer comes beyond the cap. A channel whose port was on the mux already isn't a newcomer.
func (w *watch) capped(c *cluster, now *plan.Ledger, was moment, had map[types.NamespacedName]bool) error {
	if was.ledger == nil || !was.good || len(was.ledger.Claims) == 0 {
		return nil
	}
	held, comes := 0, false
	for i := range now.Claims {
		claim := &now.Claims[i]
		if claim.State != plan.Held {
			continue
		}
		held += len(numbersOf(claim))
		old := slices.ContainsFunc(was.ledger.Claims, func(c plan.Claim) bool {
			return c.Owner.Channel == claim.Owner.Channel
		})
		comes = comes || !had[claim.Owner.Channel] && !old && !was.has(claim)
	}
	for i := range was.ports {
		if c.foreign(&was.ports[i]) && !w.renamed(c, &was.ports[i]) {
			held++
		}
	}
	if comes && held > w.mux.Cap.Ports {
		return fmt.Errorf("newcomers bring the mux to %d of %d ports", held, w.mux.Cap.Ports)
	}
	return nil
}

func (w *watch) graceOver(before *plan.Ledger, old *plan.Claim) bool {
	if old.State != plan.InGrace {
		return false
	}
	if w.tooManyGraces(before, old.Owner.Channel.Namespace) {
		return true
	}
	until := w.world.Now.Add(w.mux.Grace)
	if w.holds(before) {
		until = w.world.Now.Add(plan.RecreatedHold)
	}
	if old.Until.Before(until) {
		until = old.Until
	}
	return !until.After(w.world.Now)
}

// holds is true while the numbers of missing channels are held, because the mux was deleted and created again.
func (w *watch) holds(before *plan.Ledger) bool {
	recreated := before.MuxUID != "" && before.MuxUID != w.mux.UID
	return recreated || before.HeldUntil.After(w.world.Now)
}

// heldForMissing checks that a recreated mux frees no number of a channel that is missing, while the hold lasts.
func (w *watch) heldForMissing(was moment, claims map[plan.Slot]*plan.Claim) error {
	if was.ledger == nil || !was.good || !w.holds(was.ledger) {
		return nil
	}
	most := w.mux.Cap.Ports
	if w.mux.CapPerNamespace > 0 {
		most = min(most, w.mux.CapPerNamespace)
	}
	all := 0
	for i := range was.ledger.Claims {
		all += len(numbersOf(&was.ledger.Claims[i]))
	}
	if all > most {
		return nil // there are more numbers than may be held
	}
	for i := range was.ledger.Claims {
		old := &was.ledger.Claims[i]
		owner := old.Owner.Channel
		over := old.State == plan.InGrace && !old.Until.After(w.world.Now)
		for _, slot := range numbersOf(old) {
			if w.seen[owner] == nil && claims[slot] == nil && !over {
				return fmt.Errorf("%s of %s is freed, though the mux was created again and the channel may come back", slot, owner)
			}
		}
	}
	return nil
}

// tooManyGraces is true if not all graces of a namespace can stay: the namespace has more of them than it may have
// ports, or all namespaces together have more than the mux may have.
func (w *watch) tooManyGraces(before *plan.Ledger, namespace string) bool {
	all, own := 0, 0
	for i := range before.Claims {
		if claim := &before.Claims[i]; claim.State == plan.InGrace {
			all += len(numbersOf(claim))
			if claim.Owner.Channel.Namespace == namespace {
				own += len(numbersOf(claim))
			}
		}
	}
	quota := w.mux.CapPerNamespace
	return all > w.mux.Cap.Ports || quota > 0 && own > quota
}

// mayGo is true if the owner of a claim doesn't ask for one of its numbers, or is shut out.
func (w *watch) mayGo(claim *plan.Claim, slot plan.Slot) bool {
	key := claim.Owner.Channel
	c := w.seen[key]
	if c == nil {
		return w.answered[key] == plan.Gone
	}
	if c.Deleting || !c.Admitted && !w.mux.Namespaces.Allows(key.Namespace) {
		return true
	}
	if (c.Disabled || c.SourceRanges != "") && slices.ContainsFunc(w.mux.Ports, func(p corev1.ServicePort) bool {
		return slices.Contains(numbersOf(claim), SlotOf(&p)) && p.Name != claim.MuxName
	}) {
		return true // the mux's owner uses the number meanwhile
	}
	for i := range c.Ports {
		port := &c.Ports[i]
		if port.Name != claim.Owner.Name || port.Protocol != claim.Owner.Protocol {
			continue
		}
		switch port.Request.Kind {
		case validation.Own, validation.Number:
			return slot.Number < port.Request.Number || slot.Number > max(port.Request.Number, port.Request.Last)
		case validation.Auto:
			return claim.Source != plan.Auto && !w.mux.Auto.Contains(claim.Public)
		case validation.Unread:
			return false
		}
	}
	return true
}

// foreign is true for a port that never was a channel's, and isn't the placeholder.
func (c *cluster) foreign(port *corev1.ServicePort) bool {
	_, ours := c.names[port.Name]
	return !ours && (port.Name != "placeholder" || port.Port != 101)
}

func SlotOf(port *corev1.ServicePort) plan.Slot {
	return plan.Slot{Number: port.Port, Protocol: port.Protocol}
}

// published checks the mux: each port of ours is in the ledger, and the generation is the ledger's. The channel of a
// removed port shows no address. Foreign ports are unchanged.
func (w *watch) published(c *cluster, patch *plan.MuxPatch, was moment) error {
	for key := range patch.Annotations {
		if !strings.HasPrefix(key, c.language.Prefix()+"/") && key != validation.FormerHostname &&
			key != validation.ExternalDNSHostname &&
			key != validation.FormerCloudflareProxied && key != validation.CloudflareProxied &&
			!strings.HasPrefix(key, "kopf.zalando.org/") {
			return fmt.Errorf("annotation %s isn't ours", key)
		}
	}
	if patch.Ports == nil {
		return nil
	}
	ports := c.mux().Spec.Ports
	if err := w.claimed(c, ports, was.ports); err != nil {
		return err
	}
	is := map[plan.Slot]corev1.ServicePort{}
	for _, port := range ports {
		is[SlotOf(&port)] = port
	}
	lost := map[types.NamespacedName]bool{}
	for i := range was.ports {
		old := &was.ports[i]
		port, still := is[SlotOf(old)]
		owner, ours := c.names[old.Name]
		switch {
		case c.foreign(old) && (!still || port.Name != old.Name || port.NodePort != old.NodePort) && !w.renamed(c, old):
			return fmt.Errorf("port %s isn't ours, and is changed", old.Name)
		case ours && still && c.names[port.Name] != owner && !c.foreign(&port) && port.Name != "placeholder" &&
			!c.drifted(old):
			return fmt.Errorf("%s goes from %s to %s in one patch", SlotOf(old), owner, c.names[port.Name])
		}
		if ours && !c.drifted(old) {
			lost[owner] = true
		}
	}
	for _, r := range was.ranges {
		if owner, ours := c.names[r.Name]; ours {
			lost[owner] = true
		}
	}
	for name := range plan.ReadMux(c.language, c.mux(), false).Spans() {
		delete(lost, c.names[name])
	}
	for key := range lost {
		if svc := c.services[key]; svc != nil && w.seen[key] != nil && len(svc.Status.LoadBalancer.Ingress) > 0 {
			return fmt.Errorf("%s loses its last port, and still shows the address", key)
		}
	}
	return nil
}

// drifted is true if the ledger has no claim with the port's name and number: a user moved the port to another number.
func (c *cluster) drifted(port *corev1.ServicePort) bool {
	return c.ledger == nil || !slices.ContainsFunc(c.ledger.Claims, func(claim plan.Claim) bool {
		return claim.MuxName == port.Name && claim.Slot() == SlotOf(port)
	})
}

// renamed is true if the ledger has a claim to the port's number: a user renamed a port of ours, or put another port on
// its number.
func (w *watch) renamed(c *cluster, port *corev1.ServicePort) bool {
	return slices.ContainsFunc(c.ledger.Claims, func(claim plan.Claim) bool { return claim.Slot() == SlotOf(port) })
}

func (w *watch) claimed(c *cluster, ports, was []corev1.ServicePort) error {
	if stamp := c.mux().Annotations[c.language.Keys().Generation]; c.ledger != nil && c.ledger.Generation > 0 &&
		stamp != validation.FormatGeneration(c.ledger.Generation) {
		return fmt.Errorf("ports are stamped %q, and the ledger has generation %d", stamp, c.ledger.Generation)
	}
	for _, r := range c.ranges() {
		if c.ledger == nil || !slices.ContainsFunc(c.ledger.Claims, func(claim plan.Claim) bool {
			return claim.Span() == plan.SpanOf(r) && claim.MuxName == r.Name && claim.State != plan.InGrace
		}) {
			return fmt.Errorf("range %s is published before it is claimed", r.Name)
		}
	}
	for i := range ports {
		port := &ports[i]
		there := func(old corev1.ServicePort) bool { return old.Name == port.Name && SlotOf(&old) == SlotOf(port) }
		if c.foreign(port) || port.Name == "placeholder" || slices.ContainsFunc(was, there) {
			continue
		}
		if c.ledger == nil || !slices.ContainsFunc(c.ledger.Claims, func(claim plan.Claim) bool {
			return claim.Slot() == SlotOf(port) && (claim.MuxName == port.Name || claim.MuxName == "") &&
				claim.State != plan.InGrace
		}) {
			return fmt.Errorf("port %s (%s) is published before it is claimed", port.Name, SlotOf(port))
		}
	}
	return nil
}

// channelWritten checks that an address comes only when all ports are on the mux. While the mux is frozen, the address
// goes only if the ports are gone, or if the mux has no address.
func (w *watch) channelWritten(c *cluster, p *plan.Plan, patch *plan.ChannelPatch) error {
	keys := c.language.Keys()
	for _, condition := range patch.Conditions {
		if !slices.Contains(keys.Conditions(), condition.Type) {
			return fmt.Errorf("condition %s isn't ours", condition.Type)
		}
	}
	if !patch.SetAddress || c.mux() == nil {
		return nil
	}
	live := plan.ReadMux(c.language, c.mux(), false).Spans()
	if len(patch.Address) == 0 {
		if p.Freeze == nil || len(c.mux().Status.LoadBalancer.Ingress) == 0 {
			return nil
		}
		if w.carriedOn(c, p, patch.Channel) {
			return errors.New("an address is taken off while nothing may be decided, though its ports are there")
		}
		return nil
	}
	for _, ingress := range patch.Address {
		if ingress.IP != "" && (ingress.IPMode == nil || *ingress.IPMode != corev1.LoadBalancerIPModeProxy) ||
			len(ingress.Ports) > 0 {
			return errors.New("an address isn't in proxy mode")
		}
	}
	if c.ledger == nil || p.Freeze != nil {
		return nil
	}
	for _, claim := range c.ledger.Claims {
		if claim.Owner.Channel == patch.Channel && claim.State == plan.Held && live[claim.MuxName].Protocol == "" &&
			claim.MuxName != "" {
			return fmt.Errorf("an address comes before port %s", claim.MuxName)
		}
	}
	return nil
}

// carriedOn is true if a channel has a port on a frozen mux by the last good ledger, or may have one because no good
// ledger is known. A rebuilt ledger doesn't count, except on a paused mux.
func (w *watch) carriedOn(c *cluster, p *plan.Plan, channel types.NamespacedName) bool {
	read, ledger := &w.world.Ledger, w.memory.LastGood
	rebuilt := read.Condition == plan.Missing || read.Condition == plan.Edited || read.Condition == plan.Good &&
		read.Ledger.Generation == 0
	switch {
	case read.Condition == plan.Good && read.Ledger.Generation >= w.mux.Generation && read.Ledger.Generation > 0:
		ledger = &read.Ledger
	case rebuilt && (ledger == nil || ledger.Generation < w.mux.Generation || len(read.Ledger.Claims) > 0 ||
		p.Freeze.Reason == plan.MuxPatchRefused):
		return false
	case ledger == nil:
		return true
	}
	return slices.ContainsFunc(ledger.Claims, func(claim plan.Claim) bool {
		live := func(mux *plan.ObservedMux) bool { return mux.Spans()[claim.MuxName] == claim.Span() }
		return claim.Owner.Channel == channel && claim.State == plan.Held && live(w.mux) &&
			live(plan.ReadMux(c.language, c.mux(), false))
	})
}

// establish makes the claims in force the ones that are promised.
func (c *cluster) establish() {
	if c.ledger == nil || c.condition != plan.Good || !c.isMux() {
		return
	}
	clear(c.established)
	for _, claim := range c.ledger.Claims {
		if claim.State == plan.Held {
			for _, slot := range numbersOf(&claim) {
				c.established[slot] = claim
			}
		}
	}
}

// isShutOut is true for a channel with source ranges on a mux that can't enforce them. It is false for a channel that
// the original published and that still has its address.
func (c *cluster) isShutOut(svc *corev1.Service) bool {
	mux, _ := c.language.ParseMux(c.mux())
	isOriginals := c.published[types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}] &&
		len(svc.Status.LoadBalancer.Ingress) > 0
	return mux.Pool == "" && len(svc.Spec.LoadBalancerSourceRanges) > 0 && !isOriginals
}

// atRest checks what must hold once nothing is left to do and nothing stands in the way.
func (c *cluster) atRest(p *plan.Plan) error {
	if !p.Empty() || !p.Again.IsZero() && !p.Again.After(c.now) {
		return fmt.Errorf("it isn't at rest:\n%s", printed(p))
	}
	if !c.isMux() || p.Freeze != nil || c.mux().DeletionTimestamp != nil {
		return nil
	}
	live := plan.ReadMux(c.language, c.mux(), false).Spans()
	held, lacks := map[types.NamespacedName]int{}, map[types.NamespacedName]bool{}
	reached := map[types.NamespacedName]bool{}
	if c.ledger != nil {
		for _, claim := range c.ledger.Claims {
			svc := c.services[claim.Owner.Channel]
			if claim.State == plan.Releasing && !c.stuck[claim.Owner.Channel] || svc == nil && claim.State == plan.Held &&
				c.live[claim.Owner.Channel] != plan.Present {
				return fmt.Errorf("%s of %s is %s at rest", claim.Slot(), claim.Owner.Channel, claim.State)
			}
			disabled := svc != nil && (svc.Annotations[c.language.Keys().Disabled] == "true" || c.isShutOut(svc))
			on := live[claim.MuxName] == claim.Span()
			waits := svc != nil && len(svc.Status.LoadBalancer.Ingress) == 0 && c.limited[svc.Namespace].After(c.now)
			leftOff := !on && (waits || c.refused[claim.Owner.Channel].Withheld)
			if on != (claim.State == plan.Held && !disabled && !leftOff) && svc != nil {
				return fmt.Errorf("%s of %s is %s, and on the mux: %t", claim.Slot(), claim.Owner.Channel, claim.State, on)
			}
			lacks[claim.Owner.Channel] = lacks[claim.Owner.Channel] || leftOff
			if claim.State == plan.Held && !disabled {
				held[claim.Owner.Channel]++
				reached[claim.Owner.Channel] = reached[claim.Owner.Channel] || !leftOff
			}
		}
	}
	for _, v := range p.Verdicts {
		svc := c.services[v.Channel]
		shows := len(svc.Status.LoadBalancer.Ingress) > 0
		if should := reached[v.Channel] && len(c.mux().Status.LoadBalancer.Ingress) > 0; shows != should ||
			v.Programmed != (should && !lacks[v.Channel]) {
			return fmt.Errorf("%s shows an address: %t, is programmed: %t, and has %d ports", v.Channel, shows, v.Programmed,
				held[v.Channel])
		}
		if v.Accepted && held[v.Channel] != len(svc.Spec.Ports) {
			return fmt.Errorf("%s is accepted with %d of %d ports", v.Channel, held[v.Channel], len(svc.Spec.Ports))
		}
	}
	if len(c.refused) > 0 {
		return nil
	}
	return c.nobodyWaitsInVain(p)
}

// checkPure checks that a decision doesn't change the world and the memory, and that the same world in another order
// gives the same plan.
func (c *cluster) checkPure() error {
	w, same := c.world(), c.world()
	if err := plan.Recount(c.world(), c.memory()); err != nil {
		return err
	}
	m := c.memory()
	first := plan.Mux(w, m)
	if !reflect.DeepEqual(w, same) || !reflect.DeepEqual(m, c.memory()) {
		return errors.New("the world was changed")
	}
	other := c.world()
	slices.Reverse(other.Channels)
	slices.Reverse(other.Ledger.Ledger.Claims)
	if again := plan.Mux(other, c.memory()); !reflect.DeepEqual(first, again) {
		return fmt.Errorf("another order, another plan:\n%s\n%s", printed(first), printed(again))
	}
	return nil
}
