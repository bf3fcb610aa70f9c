package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// These are the messages to channels that are refused.

func textNamespace(mux *ObservedMux, namespace string) string {
	return fmt.Sprintf("namespace %s may not attach to the mux %s, which allows %s: "+
		"ask the mux's owner, or use another mux",
		namespace, mux.Key, mux.Namespaces.Brief())
}

func textSourceRanges(ranges string, mux types.NamespacedName) string {
	return fmt.Sprintf("spec.loadBalancerSourceRanges: the mux %s is open to every client and can't honour %s: take the "+
		"ranges away, or use a mux on gateways, a NetworkPolicy or a load balancer of its own", mux, ranges)
}

func textTooManyRanges(count int, namespace string, mux types.NamespacedName) string {
	return fmt.Sprintf("spec.loadBalancerSourceRanges: %d networks are too many: the channels of namespace %s may have "+
		"%d together on the mux %s: join networks, or use another mux", count, namespace, MaxSourceRanges, mux)
}

func textLimited(namespace string, mux types.NamespacedName, has bool, until time.Time) string {
	comes := "the channel gets its ports at " + textUntil(until)
	if has {
		comes = "this change is made at " + textUntil(until) + ", and the channel keeps the ports that it has until then"
	}
	return fmt.Sprintf("channels of namespace %s change their ports on the mux %s too often: %s", namespace, mux, comes)
}

func textRefused(mux types.NamespacedName, words string) string {
	return fmt.Sprintf("the API server didn't take this channel's ports on the mux %s: %s", mux, words) +
		moreNodePorts(words)
}

// moreNodePorts returns advice if the API server has no node ports left.
func moreNodePorts(words string) string {
	if !strings.Contains(words, "allocate a nodePort") {
		return ""
	}
	return "; free node ports, or let the mux's owner set spec.allocateLoadBalancerNodePorts to false, " +
		"if its provider needs none"
}

func textLeftOff(claim *Claim, mux types.NamespacedName, words string) string {
	return fmt.Sprintf("%s was taken off the mux %s, and the API server doesn't take it back: %s; the number stays this "+
		"channel's, and is tried again", claim.Numbers(), mux, words) + moreNodePorts(words)
}

func textLimit(mux *ObservedMux, adding int) string {
	which := "max-ports"
	if mux.Cap.Reason != "" {
		which = mux.Provider.Name
	}
	return fmt.Sprintf("%s more would pass the %d ports (%s) of the mux %s", Counted(adding, "port"), mux.Cap.Ports, which,
		mux.Key)
}

func textLimitAdvice(held int) string {
	return fmt.Sprintf("it has %d; use another mux, or ask for the limit to be raised", held)
}

func textQuota(mux *ObservedMux, namespace string, adding int) string {
	return fmt.Sprintf("%s more would pass the %d ports that namespace %s may have on the mux %s", Counted(adding, "port"),
		mux.CapPerNamespace, namespace, mux.Key)
}

func textQuotaAdvice(held int) string {
	return fmt.Sprintf("it has %d; free some, or ask for the limit to be raised", held)
}

// Counted returns "no port", "1 port" or "2 ports". n is negative for a mux above its limit: it has no port left
// either.
func Counted(n int, what string) string {
	switch {
	case n <= 0:
		return "no " + what
	case n == 1:
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

func textProtocol(mux *ObservedMux, protocol corev1.Protocol) string {
	return fmt.Sprintf("the mux %s doesn't take %s, only %s: use another mux", mux.Key, protocol, mux.Protocols.Allowed)
}

func textOneProtocol(mux *ObservedMux, inUse, asked corev1.Protocol) string {
	return fmt.Sprintf("all ports of the mux %s must have one protocol, and it has %s, not %s: use another mux, or if "+
		"its provider can mix them, say so with allowed-protocols", mux.Key, inUse, asked)
}

func textPlaceholderProtocol(mux *ObservedMux, asked corev1.Protocol, key string) string {
	return fmt.Sprintf("all ports of the mux %s must have one protocol, and its placeholder has TCP, not %s: set %s to "+
		"remove on the mux, or use another mux", mux.Key, asked, key)
}

func textNotExplicit(port string, slot Slot, mux *ObservedMux, mayAskAuto bool) string {
	text := fmt.Sprintf("port %q asks for %s; on the mux %s, numbers may be asked for in %s: take one of them", port, slot,
		mux.Key,
		mux.Explicit.Brief())
	if mayAskAuto {
		text += ", or auto"
	}
	return text
}

func textForeign(port string, slot Slot, name string) string {
	return fmt.Sprintf("port %q asks for %s, which is the mux's own (%q)", port, slot, name)
}

func textLeaving(port string, slot Slot) string {
	return fmt.Sprintf("port %q asks for %s, which is just being taken off the mux", port, slot)
}

func textConflict(port string, slot Slot, holder *Claim, until time.Time) string {
	state := "has it"
	if holder.State != Held {
		state = "had it and may come back for it"
	}
	if !until.IsZero() {
		state += " until " + textUntil(until)
	}
	return fmt.Sprintf("port %q asks for %s, and %s (port %q) %s", port, slot, holder.Owner.Channel,
		holder.Owner.Name, state)
}

func textWayOut(near int32, canPick bool) string {
	var ways []string
	if canPick {
		ways = append(ways, "ask for auto")
	}
	if near != 0 {
		ways = append(ways, fmt.Sprintf("ask for another number such as %d", near))
	}
	if len(ways) == 0 {
		return "use another mux"
	}
	return strings.Join(ways, ", or ")
}

// textListenerWayOut returns advice for a listener of a Gateway, which can't ask for auto.
func textListenerWayOut(near int32) string {
	if near == 0 {
		return "use another Gateway"
	}
	return fmt.Sprintf("change the listener's port to another number such as %d", near)
}

func textOtherRange() string { return "ask for a range whose numbers are free" }

func textPortRange(port *validation.ChannelPort, mux types.NamespacedName) string {
	return fmt.Sprintf("port %q asks for %s, and the mux %s can't carry ranges: ask for one number, or use a mux on "+
		"gateways", port.Name, port.Request, mux)
}

func textNoRange(port string, mux *ObservedMux, key string) string {
	return fmt.Sprintf("port %q asks for auto, and the mux %s has no range to pick from: "+
		"set %s on it, or ask for a number",
		port, mux.Key, key)
}

func textExhausted(port string, protocol corev1.Protocol, mux *ObservedMux) string {
	return fmt.Sprintf("port %q asks for auto, and no number of %s is free for %s on the mux %s: widen its port-range, "+
		"or free some", port, mux.Auto.Brief(), protocol, mux.Key)
}

func textOutOfRange(claim *Claim, mux *ObservedMux) string {
	allowed := mux.Auto
	if claim.Source == Static {
		allowed = mux.Explicit
	}
	if allowed.Len() == 0 {
		return fmt.Sprintf("port %q keeps %s though the mux has no range any more; created again, the channel would be "+
			"refused: ask for a number", claim.Owner.Name, claim.Slot())
	}
	if claim.Source == Static {
		return fmt.Sprintf("port %q keeps %s, which is outside of %s now; created again, the channel would be refused: ask "+
			"for a number of these, or for auto", claim.Owner.Name, claim.Slot(), allowed.Brief())
	}
	return fmt.Sprintf("port %q keeps %s, which is outside of %s now; another comes when the channel is created again",
		claim.Owner.Name, claim.Slot(), allowed.Brief())
}
