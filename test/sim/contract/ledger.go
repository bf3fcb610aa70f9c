package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// slot is a public number under a protocol.
type slot struct {
	number   int32
	protocol corev1.Protocol
}

func (s slot) String() string { return fmt.Sprintf("%d/%s", s.number, s.protocol) }

// The states of a claim, as the ledger writes them.
const (
	held    = ""
	inGrace = "inGrace"
)

// claim is an entry of the ledger.
type claim struct {
	channel types.NamespacedName
	port    string // the port's name in the channel
	own     int32  // the port's number in the channel
	slot    slot
	auto    bool
	name    string // the port's name on the mux
	state   string
	until   time.Time
}

type ledger struct {
	generation int64
	claims     []claim
}

// readLedger parses the documented fields of a ledger. A mux that never had a channel has no ledger.
func readLedger(cm *corev1.ConfigMap) (ledger, error) {
	if cm == nil {
		return ledger{}, nil
	}
	type entry struct {
		Namespace, Service, PortName, Protocol, Source, Name, State string
		ChannelPort, MuxPort                                        int32
		Until                                                       time.Time
	}
	var text struct {
		Generation           int64
		PortClaims, Released []entry
	}
	plain := cm.Data["allocations.json"]
	if plain == "" {
		return ledger{}, errors.New("allocations.json is empty")
	}
	if err := json.Unmarshal([]byte(plain), &text); err != nil {
		return ledger{}, err
	}
	l := ledger{generation: text.Generation}
	for _, e := range append(text.PortClaims, text.Released...) {
		l.claims = append(l.claims, claim{
			channel: types.NamespacedName{Namespace: e.Namespace, Name: e.Service}, port: e.PortName, own: e.ChannelPort,
			slot: slot{e.MuxPort, corev1.Protocol(e.Protocol)}, auto: e.Source == "auto", name: e.Name, state: e.State,
			until: e.Until,
		})
	}
	return l, nil
}

// checkLedger finds contradicting claims, and claims that should have been released.
func (m *mux) checkLedger() string {
	if m.ledger.generation > 0 && m.Generation != m.ledger.generation {
		return fmt.Sprintf("stamp: the mux has generation %d, and its ledger %d", m.Generation, m.ledger.generation)
	}
	slots, owners, names := map[slot]bool{}, map[claim]bool{}, map[string]bool{}
	for i := range m.ledger.claims {
		c := &m.ledger.claims[i]
		if slots[c.slot] {
			return fmt.Sprintf("ledger: two claims have %s", c.slot)
		}
		slots[c.slot] = true
		if c.state == inGrace && c.until.After(m.Now) {
			continue
		}
		if c.state != held {
			return fmt.Sprintf("ledger: %s of %s is %s until %s", c.slot, c.channel, c.state, c.until)
		}
		owner := claim{channel: c.channel, port: c.port, slot: slot{protocol: c.slot.protocol}}
		if owners[owner] || names[c.name] {
			return fmt.Sprintf("ledger: two claims are port %s of %s, or have the name %s", c.port, c.channel, c.name)
		}
		owners[owner], names[c.name] = true, true
		if why := m.mayNotHold(c); why != "" {
			return fmt.Sprintf("ledger: %s holds %s, but %s", c.channel, c.slot, why)
		}
	}
	return ""
}

// mayNotHold returns why a claim should have been released, or an empty string.
func (m *mux) mayNotHold(c *claim) string {
	owner := m.channels[c.channel]
	switch {
	case owner == nil:
		return "it isn't a channel of this mux"
	case owner.Deleting:
		return "it is being deleted"
	case owner.listener == nil && !m.Namespaces.Allows(c.channel.Namespace):
		return "its namespace isn't allowed"
	case owner.portOf(c) == nil:
		return "it has no port " + c.port
	}
	return ""
}
