package plan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// pass is one decision in the making.
type pass struct {
	w        *World
	m        *Memory
	now      time.Time
	channels []*channel // sorted by namespace and name
	byKey    map[types.NamespacedName]*channel
	allowed  allowed
	plan     *Plan
	again    time.Time

	book              // who has which number; it changes as the pass decides
	before before     // what the ledger said
	onMux  portsOnMux // the mux's ports as they are
	dns    dns
	// neverPublished are numbers that the API server refused: nothing is held for their owners.
	neverPublished map[Slot]bool
	holdUntil      time.Time       // see recreated.go
	changed        map[string]bool // namespaces whose channels change ports with this pass
	tooManyRanges  map[types.NamespacedName]bool

	said sayings
}

// channel is a channel that names the mux, with the decision about it.
type channel struct {
	*ObservedChannel
	decision
	claims []*Claim          // in every state
	room   [2]*Claim         // the memory for the first two claims: most channels have no more
	index  map[PortID]*Claim // see claimOf
	speaks bool              // a port has an appProtocol
	// withdrawn is true if the channel's numbers are held, but don't belong on the mux.
	withdrawn bool
	// postponed is true if ports of the channel that aren't on the mux mustn't come there yet.
	postponed bool
}

func newPass(w *World, m *Memory) *pass {
	p := &pass{
		w:              w,
		m:              m,
		now:            w.Now.UTC().Truncate(time.Second),
		byKey:          make(map[types.NamespacedName]*channel, len(w.Channels)),
		allowed:        allowedBy(w.Mux, w.Channels),
		plan:           &Plan{Mux: w.Key},
		neverPublished: map[Slot]bool{},
		changed:        map[string]bool{},
		tooManyRanges:  tooManyRanges(w.Channels),
		said:           sayingsOf(w.Key),
	}
	channels := make([]channel, len(w.Channels))
	for i := range w.Channels {
		c := &channels[i]
		c.ObservedChannel, c.claims = &w.Channels[i], c.room[:0]
		c.withdrawn = p.isWithdrawn(c)
		c.speaks = slices.ContainsFunc(c.Ports, func(port validation.ChannelPort) bool { return port.AppProtocol != "" })
		p.byKey[c.Key] = c
	}
	p.channels = byName(channels)
	p.book = newBook(p.byKey)
	return p
}

// hasNumbers is true if the channel has a held claim.
func (c *channel) hasNumbers() bool { return slices.ContainsFunc(c.claims, (*Claim).held) }

// lookAgain asks for another pass at the given time, unless an earlier one is due.
func (p *pass) lookAgain(at time.Time) {
	if p.again.IsZero() || at.Before(p.again) {
		p.again = at
	}
}

// warn adds a Warning about the mux. It stands as long as each pass adds it again.
func (p *pass) warn(reason validation.Reason, message string) {
	p.plan.Standing = append(p.plan.Standing, Event{Object: p.w.Key, Warning: true, Reason: reason, Message: message})
}

// belongsOnMux is true if a claim's port must be on the mux after this pass.
func (p *pass) belongsOnMux(claim *Claim) bool {
	c := p.byKey[claim.Owner.Channel]
	switch {
	case claim.State == InGrace:
		return false
	case claim.State == Releasing: // it stays if the channel still shows the address and has no other port
		return p.onMux.has(claim) && p.isStuck(claim.Owner.Channel)
	case c == nil: // the cache doesn't show the channel. It may be disabled, so its port stays as it is.
		_, isLive := p.onMux.spanNamed(claim.MuxName)
		return isLive
	case c.withdrawn:
		return p.onMux.has(claim) && p.m.Stuck[claim.Owner.Channel]
	case c.postponed:
		return p.onMux.has(claim)
	}
	no := p.m.Refused[claim.Owner.Channel]
	return !no.Withheld || p.onMux.has(claim) || !slices.Contains(no.Slots, claim.Slot())
}

// isStuck is true if the channel's address couldn't be taken off, and no held claim keeps a port of the channel on the
// mux.
func (p *pass) isStuck(key types.NamespacedName) bool {
	return p.m.Stuck[key] &&
		!slices.ContainsFunc(p.claimsOf(key), func(c *Claim) bool { return c.held() && p.belongsOnMux(c) })
}

// wasShown is true if the channel's ports annotation has the claim's number. We write that annotation after the port
// came to the mux. It may still have the port's former name.
func (p *pass) wasShown(claim *Claim) bool {
	c := p.byKey[claim.Owner.Channel]
	return c != nil && slices.ContainsFunc(c.Recorded, func(m validation.PortMapping) bool {
		return m.Public == claim.Public && m.Last == claim.Last && (m.Name == claim.Owner.Name || !c.hasPort(m.Name))
	})
}

// lacksNumbers is true if one of the channel's ports has no number.
func (c *channel) lacksNumbers() bool {
	return slices.ContainsFunc(c.Ports, func(port validation.ChannelPort) bool { return c.claimOf(&port) == nil })
}

func (c *channel) hasPort(name string) bool {
	return slices.ContainsFunc(c.Ports, func(port validation.ChannelPort) bool { return port.Name == name })
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// protocols returns all protocols that a port can have.
func protocols() [3]corev1.Protocol {
	return [...]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}
}
