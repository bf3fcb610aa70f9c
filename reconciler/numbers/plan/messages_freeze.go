package plan

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func textDeleting() string { return "the Service is being deleted" }

func textPaused(key string) string {
	return fmt.Sprintf("the mux is paused: ports stay as they are until %s is taken away", key)
}

func textWaiting(mux types.NamespacedName, freeze *Freeze) string {
	return fmt.Sprintf("nothing is decided for the mux %s at present: %s", mux, freeze.Message)
}

func textEditWaits(mux types.NamespacedName, freeze *Freeze) string {
	return fmt.Sprintf("it has what it had before its change, as nothing is decided for the mux %s at present: %s", mux,
		freeze.Message)
}

func textContested(until time.Time) string {
	return fmt.Sprintf("another writer keeps changing the mux back; managedFields of the Service name that writer. The "+
		"next correction is at %s", textUntil(until))
}

func textMissesPorts(mux types.NamespacedName, until time.Time) string {
	return fmt.Sprintf("another writer keeps taking ports off the mux %s; they are put back at %s", mux, textUntil(until))
}

func textBlocked(mux *ObservedMux, blocked *Blocked) string {
	what := "the ports of the mux " + mux.Key.String()
	if blocked.Ledger {
		what = fmt.Sprintf("the ledger of the mux %s (ConfigMap %s)", mux.Key, mux.Ledger)
	}
	return fmt.Sprintf("the API server doesn't take %s; it is tried again until it does: %s", what, blocked.Words)
}

func textUnfrozen(before string) string {
	return "ports are given and taken again; until now: " + before
}

func textUnexplained(port *corev1.ServicePort) string {
	return fmt.Sprintf("port %s (%s) is named as channels' ports are, and is no channel's: it is kept, and no channel "+
		"gets its number while it is there; take it off the mux if it isn't needed", port.Name, SlotOf(port))
}

func textRebuildsLater(name string, at time.Time) string {
	return fmt.Sprintf("the ledger (ConfigMap %s) is lost, and this process has just become the leader: the one before "+
		"may still write ports. The ledger is rebuilt from the mux at %s", name, textUntil(at))
}

func textListenersUnknown(read *Reading) string {
	what := "is lost"
	switch {
	case read.Gone != "":
		what = fmt.Sprintf("may be out of date, as the mux names ConfigMap %s, which doesn't exist", read.Gone)
	case read.Condition == Edited:
		what = "was edited"
	}
	return fmt.Sprintf("the ledger (ConfigMap %s) %s, and this process doesn't know the listeners of the mux's Gateway "+
		"yet. Once it does, it compares the ledger with the mux", read.Name, what)
}

func textRebuilt(read *Reading, key string) string {
	switch read.Condition {
	case Missing:
		return "the ledger is lost: rebuilt from the mux"
	case Edited:
		if read.Gone != "" {
			return fmt.Sprintf("annotation %s named ConfigMap %s, which doesn't exist: the ledger is ConfigMap %s, and where "+
				"it contradicts the mux, the mux counts", key, read.Gone, read.Name)
		}
		if len(read.Ledger.Claims) == 0 {
			break
		}
		return "the ledger was edited: where it contradicts the mux, the mux counts"
	case Good, Unreadable, Foreign, Newer:
	}
	return "the ledger was emptied: rebuilt from the mux"
}

func textRelabelled(name string) string { return "the labels of ConfigMap " + name }

func textMoved(from, to string) string { return fmt.Sprintf("moved from ConfigMap %s to %s", from, to) }

func textOutdated(read *Reading, stamp int64) string {
	return fmt.Sprintf("ConfigMap %s is of generation %d, and the mux's ports of generation %d: it is an older copy, or "+
		"somebody edited the mux's annotation generation; put that back, or delete the ConfigMap, and it is rebuilt from "+
		"the mux", read.Name, read.Ledger.Generation, stamp)
}
