package reconciler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/validation"
)

// checkPromises checks each state of a history against the promises, and fails the test for each break.
//
//	one owner   a slot of a mux has one channel, in ledger and mux; on the mux it is removed before another gets it
//	it stays    a held port stays, and its number doesn't change, while its channel asks for the same
//	claims      a port is added to the mux after its claim, with a generation that the ledger has; it is removed
//	            after the ledger says so
//	addresses   are shown after the ports are added, and hidden before the last one is removed
//	backends    are those of the port's own channel
//
// Promises in leftOut aren't checked.
func checkPromises(t *testing.T, states []state, leftOut ...string) {
	t.Helper()
	language, err := validation.New(prefix, muxNamespace)
	if err != nil {
		t.Fatal(err)
	}
	c := &checker{
		language: language, keys: language.Keys(),
		services: map[types.NamespacedName]*corev1.Service{}, ledgers: map[types.NamespacedName]plan.Ledger{},
		decided: map[decision]plan.Ledger{},
		owners:  map[string]types.NamespacedName{}, had: map[plan.PortID]holding{}, asks: map[types.UID]map[string]bool{},
	}
	for _, s := range states {
		c.at = fmt.Sprintf("%s: %T %s", s.object.GetResourceVersion(), s.object, client.ObjectKeyFromObject(s.object))
		switch object := s.object.(type) {
		case *corev1.Service:
			c.service(object, s.gone)
		case *corev1.ConfigMap:
			c.ledger(object, s.gone)
		case *discoveryv1.EndpointSlice:
			c.slice(object, s.gone)
		}
	}
	for _, broken := range c.broken {
		if promise, _, _ := strings.Cut(broken, ":"); !slices.Contains(leftOut, promise) {
			t.Error(broken)
		}
	}
	if c.claimed == 0 || c.shown == 0 {
		t.Errorf("%d states have only %d claims and %d addresses", len(states), c.claimed, c.shown)
	}
}

type checker struct {
	language validation.Language
	keys     validation.Keys
	at       string
	broken   []string

	services map[types.NamespacedName]*corev1.Service
	ledgers  map[types.NamespacedName]plan.Ledger // newest ledgers by mux
	decided  map[decision]plan.Ledger             // every ledger
	owners   map[string]types.NamespacedName      // channels by port name on muxes
	had      map[plan.PortID]holding
	asks     map[types.UID]map[string]bool // all that each channel ever asked for

	claimed, shown int
}

// decision names a ledger as a mux's stamp does.
type decision struct {
	mux        types.NamespacedName
	generation int64
}

// holding is a number that was held.
type holding struct {
	number int32
	mux    types.NamespacedName
	uid    types.UID
}

func (c *checker) breaks(promise, format string, args ...any) {
	c.broken = append(c.broken, fmt.Sprintf("%s: %s: %s", promise, c.at, fmt.Sprintf(format, args...)))
}

func (c *checker) service(svc *corev1.Service, gone bool) {
	key := client.ObjectKeyFromObject(svc)
	before := c.services[key]
	if gone {
		delete(c.services, key)
		return
	}
	c.services[key] = svc
	switch kind := c.language.Classify(svc); {
	case kind.Mux():
		if before == nil {
			before = &corev1.Service{}
		}
		c.mux(key, before, svc)
	case kind.Channel():
		c.channel(key, svc)
	}
}

func slotsOf(svc *corev1.Service) map[plan.Slot]string {
	slots := map[plan.Slot]string{}
	for _, port := range svc.Spec.Ports {
		slots[plan.Slot{Number: port.Port, Protocol: port.Protocol}] = port.Name
	}
	return slots
}

func (c *checker) mux(key types.NamespacedName, before, now *corev1.Service) {
	had, has, claims := slotsOf(before), slotsOf(now), c.ledgers[key].Claims
	by := map[plan.Slot]plan.Claim{}
	for _, claim := range claims {
		by[claim.Slot()] = claim
	}
	for slot, name := range has {
		switch old, was := had[slot]; {
		case name == "placeholder" || old == name:
		case was && old != "placeholder" && c.owners[old] != c.owners[name]:
			c.breaks("one owner", "%v goes from %v to %v in one write", slot, c.owners[old], c.owners[name])
		case by[slot].MuxName != name:
			c.breaks("claims", "%v comes as %s, and the ledger has %+v", slot, name, claims)
		}
	}
	mux, _ := c.language.ParseMux(now)
	stamp := decision{key, mux.Generation}
	for slot, name := range had {
		if _, stays := has[slot]; !stays && name != "placeholder" {
			c.goes(stamp, slot, name, has)
		}
	}
	if old, _ := c.language.ParseMux(before); mux.Generation > c.ledgers[key].Generation &&
		old.Generation != mux.Generation {
		c.breaks("claims", "generation %d is ahead of the ledger's %d", mux.Generation, c.ledgers[key].Generation)
	}
}

// goes checks a port that is removed from a mux. The removal was decided in the ledger that the mux's stamp names. That
// isn't always the newest ledger: of two leaders, the other may have given the number back to the channel since.
func (c *checker) goes(by decision, slot plan.Slot, name string, has map[plan.Slot]string) {
	mux, owner := by.mux, c.owners[name]
	channel := c.services[owner]
	disabled := channel != nil && channel.Annotations[c.keys.Disabled] != ""
	held := slices.ContainsFunc(c.decided[by].Claims, func(claim plan.Claim) bool {
		return claim.Slot() == slot && claim.MuxName == name && claim.State == plan.Held
	})
	if held && !disabled {
		c.breaks("it stays", "%v of %v goes though it is held", slot, owner)
	}
	if channel == nil || address(channel) == "" || c.muxOf(channel) != mux {
		return
	}
	for _, other := range has {
		if c.owners[other] == owner {
			return
		}
	}
	c.breaks("addresses", "%v, the last port of %v, goes while it shows %s", slot, owner, address(channel))
}

func (c *checker) muxOf(channel *corev1.Service) types.NamespacedName {
	if channel.Spec.LoadBalancerClass == nil {
		return types.NamespacedName{}
	}
	mux, _ := c.language.ParseClass(*channel.Spec.LoadBalancerClass)
	return mux
}

// channel checks that a channel has all of its ports on the mux while it shows an address.
func (c *checker) channel(key types.NamespacedName, now *corev1.Service) {
	if c.asks[now.UID] == nil {
		c.asks[now.UID] = map[string]bool{}
	}
	c.asks[now.UID][asksFor(now)] = true
	if address(now) == "" {
		return
	}
	c.shown++
	mux := c.services[c.muxOf(now)]
	if mux == nil {
		c.breaks("addresses", "%s is shown without a mux", address(now))
		return
	}
	live := slotsOf(mux)
	some := false
	for _, claim := range c.ledgers[c.muxOf(now)].Claims {
		if claim.Owner.Channel == key && live[claim.Slot()] == claim.MuxName {
			some = true
		}
	}
	if !some {
		c.breaks("addresses", "%s is shown, and none of its ports is on %v", address(now), live)
	}
}

func (c *checker) ledger(cm *corev1.ConfigMap, gone bool) {
	var mux types.NamespacedName
	for key := range c.services {
		if key.String() == cm.Annotations[c.keys.Mux] {
			mux = key
		}
	}
	if gone || mux.Name == "" {
		return
	}
	reading := record.Decode(cm, mux, c.keys)
	if reading.Condition != plan.Good {
		c.breaks("claims", "the ledger reads %d: %s", reading.Condition, reading.Why)
		return
	}
	before := c.ledgers[mux]
	c.ledgers[mux] = reading.Ledger
	c.decided[decision{mux, reading.Ledger.Generation}] = reading.Ledger
	if reading.Ledger.Generation < before.Generation {
		c.breaks("claims", "generation %d follows %d", reading.Ledger.Generation, before.Generation)
	}
	live := map[plan.Slot]string{}
	if svc := c.services[mux]; svc != nil {
		live = slotsOf(svc)
	}
	c.claims(mux, reading.Ledger.Claims, live)
}

func (c *checker) claims(mux types.NamespacedName, claims []plan.Claim, live map[plan.Slot]string) {
	slots := map[plan.Slot]plan.PortID{}
	held := map[plan.PortID]plan.Claim{}
	for _, claim := range claims {
		c.claimed++
		c.owners[claim.MuxName] = claim.Owner.Channel
		slot, owner := claim.Slot(), claim.Owner
		if other, taken := slots[slot]; taken {
			c.breaks("one owner", "%v is %v's and %v's", slot, other, owner)
		}
		slots[slot] = owner
		if name := live[slot]; name != "" && name != "placeholder" && c.owners[name] != owner.Channel {
			c.breaks("one owner", "%v is given to %v while it is on the mux as %v's", slot, owner, c.owners[name])
		}
		if claim.State == plan.Held {
			held[owner] = claim
		}
	}
	c.stay(mux, held)
}

// stay compares held claims with earlier ones, for channels whose request never changed.
func (c *checker) stay(mux types.NamespacedName, held map[plan.PortID]plan.Claim) {
	for id, was := range c.had {
		if was.mux != mux {
			continue
		}
		channel := c.services[id.Channel]
		if channel != nil && channel.DeletionTimestamp == nil && channel.UID == was.uid && len(c.asks[was.uid]) == 1 &&
			held[id].Public != was.number {
			c.breaks("it stays", "%v had %d and has %d", id, was.number, held[id].Public)
		}
		delete(c.had, id)
	}
	for id, claim := range held {
		if channel := c.services[id.Channel]; channel != nil && c.muxOf(channel) == mux && c.asksIndeed(channel, claim) {
			c.had[id] = holding{claim.Public, mux, channel.UID}
		}
	}
}

// asksIndeed returns whether a channel asks for a claim's number. A port that asks for auto doesn't ask for a number
// that was requested explicitly, by the same Service or by an earlier one of its name: the channel may lose that
// number.
func (c *checker) asksIndeed(svc *corev1.Service, claim plan.Claim) bool {
	channel, _ := c.language.ParseChannel(svc)
	return slices.ContainsFunc(channel.Ports, func(p validation.ChannelPort) bool {
		return p.Name == claim.Owner.Name && p.Protocol == claim.Owner.Protocol &&
			(p.Request.Kind == validation.Auto && claim.Source == plan.Auto || p.Request.Number == claim.Public)
	})
}

// asksFor returns everything on which a channel's numbers depend.
func asksFor(channel *corev1.Service) string {
	text := channel.Annotations[prefix+"/external-ports"]
	for _, port := range channel.Spec.Ports {
		text += fmt.Sprintf(" %s:%d/%s", port.Name, port.Port, port.Protocol)
	}
	return text
}

// slice checks that a slice carries its channel's backends under its channel's names.
func (c *checker) slice(slice *discoveryv1.EndpointSlice, gone bool) {
	if gone || !project.IsOurSlice(c.keys, slice) {
		return
	}
	channel, _ := project.ChannelOfSlice(c.keys, slice)
	for _, port := range slice.Ports {
		if owner, known := c.owners[*port.Name]; !known || owner != channel {
			c.breaks("backends", "%s is %v's, and carries %v's", *port.Name, owner, channel)
		}
	}
}
