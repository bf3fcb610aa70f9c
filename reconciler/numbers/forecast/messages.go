package forecast

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// These are the messages of predictions; those of conditions are in package plan. Kubernetes shows 256 characters of a
// warning, so the important part comes first, and lists are short.

// The message of a refusal begins with one of these effects.

func textNothing() string { return "it will get no port" }

func textUnlessHeld() string { return "it will get no port, unless its numbers are held for it" }

func textKeeps() string { return "it will keep the ports it has" }

func textLoses() string { return "it will lose its ports until the ranges go" }

func textHiddenHolder(port string, slot plan.Slot) string {
	return fmt.Sprintf("port %q asks for %s, which a channel of another namespace has", port, slot)
}

func textHiddenNamespaces(mux types.NamespacedName, namespace string) string {
	return fmt.Sprintf("namespace %s may not attach to the mux %s: ask the mux's owner, or use another mux", namespace,
		mux)
}

func textNearlyFull(mux *plan.ObservedMux, left int) string {
	which := "max-ports"
	if mux.Cap.Reason != "" {
		which = mux.Provider.Name
	}
	return fmt.Sprintf("after this the mux %s has room for %s (of %d, %s): "+
		"make another mux in time, or have the limit raised",
		mux.Key, plan.Counted(left, "port"), mux.Cap.Ports, which)
}

func textQuotaNearlyFull(mux *plan.ObservedMux, namespace string, left int) string {
	return fmt.Sprintf("after this namespace %s may have %s more on the mux %s (of %d): free some in time, or have the "+
		"limit raised", namespace, plan.Counted(left, "port"), mux.Key, mux.CapPerNamespace)
}

func textNearlyUsedUp(mux *plan.ObservedMux, protocol corev1.Protocol, left int) string {
	return fmt.Sprintf("after this the mux %s has %s left for %s in %s: have its port-range widened in time",
		mux.Key, plan.Counted(left, "number"), protocol, mux.Auto.Brief())
}

func textMuxGone(mux types.NamespacedName, channels string) string {
	return fmt.Sprintf("with the mux %s, %s will lose address and ports; a mux made again by that name gives them the "+
		"same numbers", mux, channels)
}

func textMuxDropped(mux types.NamespacedName, channels string) string {
	return fmt.Sprintf("%s is no mux from now on, and %s will lose address and ports; make it a mux again, and they get "+
		"the same numbers", mux, channels)
}

func textPortsDropped(ports int, channels string) string {
	return fmt.Sprintf("takes %s of %s off the mux until the reconciler puts them back: apply the mux with its own ports "+
		"alone, and don't replace it", plan.Counted(ports, "port"), channels)
}

func textPortsDroppedPaused(ports int, channels, key string) string {
	return fmt.Sprintf("takes %s of %s off the mux, and nobody puts them back while %s is set",
		plan.Counted(ports, "port"), channels, key)
}

func textDetached(mux *plan.ObservedMux, channels string) string {
	return fmt.Sprintf("shuts out %s, which will lose address and ports: to keep them, allow their namespaces beside %s",
		channels, mux.Namespaces.Brief())
}

// textChannels returns a text such as "3 channels (app/a, app/b, ...)".
func textChannels(count int, shown []types.NamespacedName) string {
	const names, room = 3, 90
	text := make([]string, 0, names+1)
	size := 0
	for _, key := range shown[:min(len(shown), names)] {
		if size += len(key.String()); size > room && len(text) > 0 {
			break
		}
		text = append(text, key.String())
	}
	channels := plan.Counted(count, "channel")
	if len(text) == 0 {
		return channels
	}
	if len(text) < count {
		text = append(text, "...")
	}
	return channels + " (" + strings.Join(text, ", ") + ")"
}
