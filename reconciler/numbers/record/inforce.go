package record

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// Ask names the ledger of a mux, and says what a good ledger has according to the mux.
type Ask struct {
	Mux types.NamespacedName
	// Name is the ConfigMap that the mux's owner wants: validation.Mux.Ledger.
	Name string
	// InForce is the ConfigMap that annotation ledger on the mux names: validation.Mux.LedgerInForce.
	InForce string
	// Stamp is the generation on the mux. A ledger with an older one is incomplete.
	Stamp int64
	// PortsLive is true if the mux has ports that may be ours: then a ledger without claims has lost them.
	PortsLive bool
}

// AskOf returns the question for the ledger of a mux.
func AskOf(mux *plan.ObservedMux) Ask {
	return Ask{
		Mux: mux.Key, Name: mux.Ledger, InForce: mux.LedgerInForce, Stamp: mux.Generation,
		PortsLive: plan.MayHaveOurs(&mux.Mux),
	}
}

// Names returns the ConfigMap that the mux's owner wants, and the one that the ledger moves from; "" if the ledger
// doesn't move.
func (a *Ask) Names() (wanted, old string) {
	switch {
	case a.Name == "":
		return a.InForce, "" // the name that the owner wants can't be read
	case a.InForce != a.Name:
		return a.Name, a.InForce
	}
	return a.Name, ""
}

// Read is what a ConfigMap says as the ledger of a mux.
type Read struct {
	plan.Reading
	// Ours is true if the ConfigMap's annotation names the mux.
	Ours bool
}

// ReadOf reads a ConfigMap.
func ReadOf(cm *corev1.ConfigMap, mux types.NamespacedName, keys validation.Keys) Read {
	return Read{Decode(cm, mux, keys), cm.Annotations[keys.Mux] == mux.String()}
}

func (r *Read) readable() bool { return r.Condition == plan.Good || r.Condition == plan.Edited }

// Good is true for good news: a ledger that isn't older than the mux, and that hasn't lost its claims.
func (r *Read) Good(ask *Ask) bool {
	return r.readable() && r.Ledger.Generation >= ask.Stamp && (len(r.Ledger.Claims) > 0 || !ask.PortsLive)
}

// continues is true if old was copied into r and hasn't been written since: r has a later generation, and every number
// that old gives to a port of a channel. In such a copy, a number that was released since is still there, as releasing.
// A leftover of an earlier move may lack a number, or have it for another port.
func (r *Read) continues(old *Read) bool {
	if !r.readable() || !old.readable() || r.Ledger.Generation <= old.Ledger.Generation {
		return false
	}
	claims := make(map[plan.Slot]*plan.Claim, len(r.Ledger.Claims))
	for i := range r.Ledger.Claims {
		claims[r.Ledger.Claims[i].Slot()] = &r.Ledger.Claims[i]
	}
	for i := range old.Ledger.Claims {
		claim := &old.Ledger.Claims[i]
		now := claims[claim.Slot()]
		if claim.State == plan.Held && (now == nil || now.Owner != claim.Owner || now.Last < claim.Last) {
			return false
		}
	}
	return true
}

// doubt returns the reading of the wanted ConfigMap, as Edited if it may be out of date: if the mux names another
// ConfigMap that doesn't exist, the wanted one may be left over from an earlier move. Then the mux counts more than the
// ledger.
func (a *Ask) doubt(wanted plan.Reading, old *Read) plan.Reading {
	if _, moves := a.Names(); moves != "" && old == nil && wanted.Condition == plan.Good {
		wanted.Condition, wanted.Gone, wanted.Why = plan.Edited, moves, textLeftOver(moves)
	}
	return wanted
}

// InForce returns the ledger of a mux, from the ConfigMaps that Names names; nil is a ConfigMap that doesn't exist. The
// ledger is in the ConfigMap that the mux's annotation names, if that ConfigMap is the mux's, or else in the one that
// the mux's owner wants. If the two differ, the ledger moves. The process may crash after each step:
//
//	                     InForce        Name              the ledger is
//	the owner renames    generation 7   nothing, or old   InForce, Moved: the plan reserves generation 8 under Name
//	Name is written      generation 7   generation 8      Name: the plan publishes generation 8 and the name
//	the mux is switched                 generation 8      Name; DropOld deletes the ConfigMap that was InForce
//
// In the second state another process may be about to publish Name's claims, so they must not be overwritten. So Name
// counts if its generation is past the mux's stamp and past InForce's, and it has all claims of InForce. A leftover of
// an earlier move doesn't meet these conditions.
func InForce(ask Ask, wanted, old *Read) plan.Reading {
	moves := old != nil && old.Ours
	switch {
	case wanted == nil && !moves:
		name, _ := ask.Names()
		return plan.Reading{Condition: plan.Missing, Name: name}
	case wanted != nil && (!moves || !wanted.Ours || wanted.Ledger.Generation > ask.Stamp && wanted.continues(old)):
		return ask.doubt(wanted.Reading, old)
	}
	reading := old.Reading
	reading.Moved = true
	return reading
}
