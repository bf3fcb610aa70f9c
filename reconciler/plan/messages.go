package plan

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// The messages to users. Each names the object, the value and the way out. No message may change from pass to pass
// while its cause stays: each change is a write and an Event.

// textMuxNotFound covers a missing Service and one that isn't a mux: either may become the other at any time.
func textMuxNotFound(mux types.NamespacedName, key string) string {
	return fmt.Sprintf("there is no mux %s: a Service by that name needs type LoadBalancer and annotation %s: \"true\"; or create "+
		"this Service again with the class of another mux", mux, key)
}

func textMuxDeleting(mux types.NamespacedName) string {
	return fmt.Sprintf("the mux %s is being deleted: create it again, or create this channel again under another", mux)
}

func textUnserved(mux types.NamespacedName, by Server) string {
	return fmt.Sprintf("%sin %s alone, and the mux %s isn't there: create the Service again under a mux that is, or have that "+
		"reconciler serve namespace %s too (rbac.muxNamespaces of the chart, --mux-namespaces)",
		textServer(by), listed(by.Namespaces, ", "), mux, mux.Namespace)
}

func textUnservedMux(mux types.NamespacedName, by Server) string {
	return fmt.Sprintf("%sin %s alone, so it gives no ports on this one: make the mux in one of those namespaces, or have that "+
		"reconciler serve namespace %s too (rbac.muxNamespaces of the chart, --mux-namespaces)",
		textServer(by), listed(by.Namespaces, ", "), mux.Namespace)
}

func textServedBefore(mux types.NamespacedName, by Server) string {
	return fmt.Sprintf("%sin %s alone: if no other release serves this mux, its ports don't change any more, so have that "+
		"reconciler serve namespace %s too (rbac.muxNamespaces of the chart, --mux-namespaces)",
		textServer(by), listed(by.Namespaces, ", "), mux.Namespace)
}

// textServer begins the messages of one reconciler. isUnserved recognizes them by it.
func textServer(by Server) string {
	return fmt.Sprintf("the reconciler %s serves muxes ", by.Name)
}

func textDeleting() string { return "the Service is being deleted" }

func textPaused(key string) string {
	return fmt.Sprintf("the mux is paused: ports stay as they are until %s is taken away", key)
}

func textWaiting(mux types.NamespacedName, freeze *Freeze) string {
	return fmt.Sprintf("nothing is decided for the mux %s until this is mended: %s", mux, freeze.Message)
}

func textEditWaits(mux types.NamespacedName, freeze *Freeze) string {
	return fmt.Sprintf("it has what it had before its change, as nothing is decided for the mux %s until this is mended: %s", mux,
		freeze.Message)
}

func textContested(until time.Time) string {
	return fmt.Sprintf("another writer keeps changing it back; managedFields of the Service name it. Next correction at %s", textUntil(until))
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
	return fmt.Sprintf("port %s (%s) is named as channels' ports are, and is no channel's: it is kept, and its number "+
		"given to nobody; take it off the mux if it isn't needed", port.Name, SlotOf(port))
}

func textRebuildsLater(name string, at time.Time) string {
	return fmt.Sprintf("the ledger (ConfigMap %s) is lost, and this process has just become the leader: the one before may still write "+
		"ports. The ledger is rebuilt from the mux at %s", name, textUntil(at))
}

func textListenersUnknown(read *Reading) string {
	what := "is lost"
	if read.Condition == Edited {
		what = "was edited"
	}
	return fmt.Sprintf("the ledger (ConfigMap %s) %s, and this process doesn't know the listeners of the mux's Gateway yet. Once it does, it compares the ledger "+
		"with the mux", read.Name, what)
}

func textRebuilt(read *Reading) string {
	switch read.Condition {
	case Missing:
		return "the ledger is lost: rebuilt from the mux"
	case Edited:
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
		"somebody edited the mux's generation; put that back, or delete the ConfigMap, and it is rebuilt from the mux", read.Name,
		read.Ledger.Generation, stamp)
}

// sayings are the messages that nearly all channels get. They are formatted once.
type sayings struct{ accepted, programmed, addressPending string }

func sayingsOf(mux types.NamespacedName) sayings {
	return sayings{
		accepted: textAccepted(mux), programmed: textProgrammed(mux), addressPending: textAddressPending(mux),
	}
}

func textAccepted(mux types.NamespacedName) string {
	return fmt.Sprintf("all ports have a number on the mux %s", mux)
}

func textProgrammed(mux types.NamespacedName) string {
	return fmt.Sprintf("all ports are on the mux %s, which has an address", mux)
}

func textAddressPending(mux types.NamespacedName) string {
	return fmt.Sprintf("all ports are on the mux %s, which has no address from its provider yet", mux)
}

func textNotProgrammed() string { return "the channel has no ports on a mux" }

func textHasBackends() string { return "at least one backend is ready" }

func textNoBackends() string {
	return "no backend is ready: look at the pods that the Service selects, and at the names of its ports"
}

func textBackendsPending(mux types.NamespacedName) string {
	return fmt.Sprintf("backends are ready, and no EndpointSlice of mux %s has them yet", mux)
}

func textBackendsRefused(mux types.NamespacedName, words string) string {
	return fmt.Sprintf("not all backends are on mux %s, because the API server refuses an EndpointSlice there: %s: %s",
		mux, words, TextMendRefusal(mux.Namespace))
}

// TextMendRefusal tells what to do if the API server refuses an EndpointSlice in a namespace.
func TextMendRefusal(namespace string) string {
	return fmt.Sprintf("in namespace %s, raise the quota of endpointslices or change the policy that refuses them; on OpenShift,"+
		" set rbac.restrictedEndpoints=true in the chart", namespace)
}

func textFamilyMismatch(mux *ObservedMux) string {
	families := make([]string, len(mux.Families))
	for i, family := range mux.Families {
		families[i] = string(family)
	}
	return fmt.Sprintf("all backends have addresses of another family than the mux %s (%s): make the mux dual-stack",
		mux.Key, strings.Join(families, ", "))
}

func textDisabled(key string, holds bool) string {
	if !holds {
		return fmt.Sprintf("gets no ports because of %s", key)
	}
	return fmt.Sprintf("withdrawn because of %s; its numbers are held", key)
}

func textHostnameNotAllowed(name string, mux *ObservedMux) string {
	return fmt.Sprintf("%s isn't gathered: the mux %s allows %s: take a name of those, or ask its owner", name, mux.Key,
		mux.Hostnames.Brief())
}

func textHostnameTaken(name, holder string) string {
	return fmt.Sprintf("%s isn't gathered: namespace %s has it: take another name, or wait until no channel there asks for it", name, holder)
}

func textDirect(key, name string, mux *ObservedMux) string {
	if name == "" {
		return fmt.Sprintf("%s: it lists more than the %d names that can be judged, and the mux %s allows %s: list fewer, or use "+
			"external-dns-hostname", key, validation.MaxHostnames, mux.Key, mux.Hostnames.Brief())
	}
	return fmt.Sprintf("%s: external-dns would publish %s, and the mux %s allows %s: take a name of those, or ask its owner", key,
		name, mux.Key, mux.Hostnames.Brief())
}

func textTooManyDirect(key string, most int) string {
	return fmt.Sprintf("%s: the channels of its namespace give external-dns more than %d names, which is as many as are judged: give "+
		"fewer, or use external-dns-hostname", key, most)
}

func textTooManyHostnames(name string, most int) string {
	return fmt.Sprintf("%s isn't gathered: the channels of its namespace ask for more than %d new names on the mux: ask for fewer, or use another mux",
		name, most)
}

func textHostnamesFull(name string) string {
	return fmt.Sprintf("%s isn't gathered: the mux has as many names as fit into an annotation: take others off, or use another mux", name)
}

func textProxiedConflict(now, wish validation.Switch) string {
	value := now.String()
	if value == "" {
		value = "neither true nor false"
	}
	return fmt.Sprintf("%s is %s on the mux and stays so, though its channels say %s: take it off the mux to have it follow "+
		"them", validation.CloudflareProxied, value, wish)
}

func textEdges(gained, lost []string) string {
	var parts []string
	if len(gained) > 0 {
		parts = append(parts, "backends came: "+listed(gained, ", "))
	}
	if len(lost) > 0 {
		parts = append(parts, "no backends any more: "+listed(lost, ", "))
	}
	return strings.Join(parts, "; ")
}

// TextPutRight is the message of a drift correction.
func TextPutRight(what []string) string { return "put right what was changed: " + listed(what, "; ") }
