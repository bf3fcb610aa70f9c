package plan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// member is a channel that names the mux, and what is decided about it.
type member struct {
	*ObservedChannel
	judgement
	claims []*Claim  // in whatever state
	room   [2]*Claim // for the first of them: most have no more
}

// pass is one decision in the making.
type pass struct {
	w        *World
	now      time.Time
	sorted   []*member // by namespace and name
	byKey    map[types.NamespacedName]*member
	allowed  allowed
	disables bool // some channel is disabled
	speaks   bool // some channel's port has an appProtocol

	contested bool // what somebody changed on the mux stays for now
	// leftOff are claims whose ports somebody took off the mux, and the API server doesn't take back.
	leftOff   map[*Claim]bool
	takenBack map[*Claim]bool // claims that the API server refused, and that never were on the mux
	pushedOut map[Slot]bool   // graces that end with this pass for want of room
	holdUntil time.Time       // see recognize
	rebuilt   bool            // the ledger was lost
	changed   map[string]bool // namespaces, see changes

	// The books, which change as things are decided.
	claims   []*Claim                          // all of them, in whatever state
	absent   map[types.NamespacedName][]*Claim // those of channels that aren't to be seen
	live     liveMux
	table    table
	held     int            // slots that are taken: foreign ports and claims in force
	heldBy   map[string]int // of those, by namespace
	carrying map[corev1.Protocol]int
	derived  map[string]types.NamespacedName // whose ports would get a name, if that matters
	refused  []*edit                         // what incumbents don't get

	// What comes of it.
	dns     dns
	address []corev1.LoadBalancerIngress // of the mux, as channels show it
	again   time.Time
	plan    *Plan

	// What is used again and again, as there are thousands of channels.
	said       sayings
	ink        *inkpad
	has        map[types.NamespacedName]map[PortID]*Claim // see claimOf
	conditions []metav1.Condition
	mappings   []validation.PortMapping
	note       []byte
}

func begin(w *World) *pass {
	n := len(w.Channels)
	p := &pass{
		w:         w,
		now:       w.Now.UTC().Truncate(time.Second),
		allowed:   allowedBy(w.Mux, w.Channels),
		byKey:     make(map[types.NamespacedName]*member, n),
		absent:    map[types.NamespacedName][]*Claim{},
		table:     newTable(len(w.Ledger.Ledger.Claims)),
		heldBy:    map[string]int{},
		carrying:  map[corev1.Protocol]int{},
		said:      sayingsOf(w.Key),
		ink:       &inkpad{},
		leftOff:   map[*Claim]bool{},
		takenBack: map[*Claim]bool{},
		changed:   map[string]bool{},
		has:       map[types.NamespacedName]map[PortID]*Claim{},
		plan:      &Plan{Mux: w.Key, InPlace: make(map[types.NamespacedName]Fingerprint, n+1)},
	}
	members := make([]member, n)
	for i := range w.Channels {
		c := &members[i]
		c.ObservedChannel, c.claims = &w.Channels[i], c.room[:0]
		p.byKey[c.Key] = c
		p.disables = p.disables || c.Disabled
		for i := range c.Ports {
			p.speaks = p.speaks || c.Ports[i].AppProtocol != ""
		}
	}
	p.sorted = byName(members)
	return p
}

// adopt takes claims as the ones to go on with. What no port can be is left out.
func (p *pass) adopt(claims []Claim) {
	p.claims = make([]*Claim, 0, len(claims))
	own := slices.Clone(claims)
	for i := range own {
		if isPort(own[i].Slot()) {
			p.add(&own[i])
		}
	}
}

func (p *pass) add(claim *Claim) {
	p.claims = append(p.claims, claim)
	if c := p.byKey[claim.Owner.Channel]; c != nil {
		c.claims = append(c.claims, claim)
		return
	}
	p.absent[claim.Owner.Channel] = append(p.absent[claim.Owner.Channel], claim)
}

// claimsOf are those of a channel, whether it is to be seen or not.
func (p *pass) claimsOf(channel types.NamespacedName) []*Claim {
	if c := p.byKey[channel]; c != nil {
		return c.claims
	}
	return p.absent[channel]
}

// forget drops claims for good: nothing is held for anybody.
func (p *pass) forget(gone ...*Claim) {
	if len(gone) == 0 {
		return
	}
	is := make(map[*Claim]bool, len(gone))
	for _, claim := range gone {
		is[claim] = true
	}
	in := func(c *Claim) bool { return is[c] }
	p.claims = slices.DeleteFunc(p.claims, in)
	for _, claim := range gone {
		if c := p.byKey[claim.Owner.Channel]; c != nil {
			c.claims = slices.DeleteFunc(c.claims, in)
		} else {
			p.absent[claim.Owner.Channel] = slices.DeleteFunc(p.absent[claim.Owner.Channel], in)
		}
		p.table.drop(claim)
	}
}

// lookAgain makes sure of another pass at the time given.
func (p *pass) lookAgain(at time.Time) {
	if p.again.IsZero() || at.Before(p.again) {
		p.again = at
	}
}

func (p *pass) say(event Event) { p.plan.Standing = append(p.plan.Standing, event) }

func (p *pass) sayOfMux(reason validation.Reason, message string) {
	p.say(Event{Object: p.w.Key, Warning: true, Reason: reason, Message: message})
}
