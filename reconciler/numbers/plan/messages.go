package plan

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
)

// The messages to users. Each names the object, the value and the way out. No message may change from pass to pass
// while its cause stays: each change is a write and an Event.

// textMuxNotFound covers a missing Service and one that isn't a mux: either may become the other at any time.
func textMuxNotFound(mux types.NamespacedName, key string) string {
	return fmt.Sprintf("there is no mux %s: a Service by that name needs type LoadBalancer and annotation %s: \"true\"; "+
		"or create this Service again with the class of another mux", mux, key)
}

func textMuxDeleting(mux types.NamespacedName) string {
	return fmt.Sprintf("the mux %s is being deleted: create it again, or create this channel again under another", mux)
}

func textUnserved(mux types.NamespacedName, by Server) string {
	return fmt.Sprintf("%sin %s alone, not the mux %s: create the Service again under a mux that it serves, or have it "+
		"serve namespace %s too (rbac.muxNamespaces of the chart, --mux-namespaces)",
		textServer(by), listed(by.Namespaces, ", "), mux, mux.Namespace)
}

func textUnservedMux(mux types.NamespacedName, by Server) string {
	return fmt.Sprintf("%sin %s alone, so it gives no ports on this one: make the mux in one of those namespaces, or "+
		"have that reconciler serve namespace %s too (rbac.muxNamespaces of the chart, --mux-namespaces)",
		textServer(by), listed(by.Namespaces, ", "), mux.Namespace)
}

func textServedBefore(mux types.NamespacedName, by Server) string {
	return fmt.Sprintf("%sin %s alone: if no other release serves this mux, its ports don't change any more, so have "+
		"that reconciler serve namespace %s too (rbac.muxNamespaces of the chart, --mux-namespaces)",
		textServer(by), listed(by.Namespaces, ", "), mux.Namespace)
}

// textServer returns the beginning of one reconciler's messages. isUnserved recognizes them by it.
func textServer(by Server) string {
	return fmt.Sprintf("the reconciler %s serves muxes ", by.Name)
}

// sayings are the messages that nearly all channels get. They are formatted once.
type sayings struct{ accepted, programmed, someProgrammed, addressPending string }

func sayingsOf(mux types.NamespacedName) sayings {
	return sayings{
		accepted:       fmt.Sprintf("all ports have a number on the mux %s", mux),
		programmed:     fmt.Sprintf("all ports are on the mux %s, which has an address", mux),
		someProgrammed: fmt.Sprintf("all ports that have a number are on the mux %s, which has an address", mux),
		addressPending: fmt.Sprintf("all ports are on the mux %s, which has no address from its provider yet", mux),
	}
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
	return fmt.Sprintf("in namespace %s, raise the quota of endpointslices or change the policy that refuses them; on "+
		"OpenShift, set rbac.restrictedEndpoints=true in the chart", namespace)
}

func textFamilyMismatch(mux *ObservedMux) string {
	families := make([]string, len(mux.Families))
	for i, family := range mux.Families {
		families[i] = string(family)
	}
	return fmt.Sprintf("all backends have addresses of another family than the mux %s (%s): make the mux dual-stack",
		mux.Key, strings.Join(families, ", "))
}

func textDisabled(c *channel, key string, holds bool) string {
	switch {
	case !holds:
		return fmt.Sprintf("gets no ports because of %s", key)
	case !claimants.IsService(c.Key): // a ListenerSet may still get a route's number
		return fmt.Sprintf("withdrawn because of %s; no other route gets its number", key)
	}
	return fmt.Sprintf("withdrawn because of %s; its numbers are held: without the annotation it comes back with them",
		key)
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
