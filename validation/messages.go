package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// All messages that users read, in the order of reasons.go. Each names the value and how to correct it. A message about
// a field begins with the field. A message about an annotation gets the annotation's name in front from its caller:
// "external-ports: port ...". testdata/messages.golden shows all messages in use.

func textNotLoadBalancer(what Kind, serviceType string) string {
	return fmt.Sprintf("spec.type: a %s is a LoadBalancer, not %s: set type: LoadBalancer", what, quote(serviceType))
}

func textSelector(selector map[string]string) string {
	return fmt.Sprintf("spec.selector: a mux has none, this one has %s: take it away, the mux's backends come from "+
		"its channels", quote(labels.FormatLabels(selector)))
}

func textMuxIsChannel(class string) string {
	return fmt.Sprintf("spec.loadBalancerClass: %s makes this a channel, and its %s annotation a mux: "+
		"take one of the two away", quote(class), multiplexer)
}

func textTrueOrFalse(value string) string {
	return fmt.Sprintf(`%s is neither "true" nor "false": write one of them, in small letters`, quote(value))
}

func textClass(class, prefix string) string {
	return fmt.Sprintf("spec.loadBalancerClass: %s names no mux: write %s/<mux> or %s/<mux>.<namespace>, "+
		"both in small letters, digits and dashes", quote(class), prefix, prefix)
}

func textUnnamedPort(number string) string {
	return fmt.Sprintf("port %s has no name: give it one, such as name: http", plain(number))
}

func textSamePortName(name string) string {
	return fmt.Sprintf("port %s is there twice: give each a name of its own", quote(name))
}

func textPortNumber(number int32) string {
	return fmt.Sprintf("%d is not a port number: write %d to %d", number, MinPort, MaxPort)
}

func textPortProtocol(protocol string) string {
	return fmt.Sprintf("%s is not a protocol: write TCP, UDP or SCTP", quote(protocol))
}

func textGateway(value string) string {
	return fmt.Sprintf("%s names no Gateway: write its namespace and its name, such as infra/edge", quote(value))
}

func textRoutePort(value string) string {
	return fmt.Sprintf("%s is neither auto nor a number from 1 to 65535: a route asks for one, without a port's name, "+
		"such as %q or %q", quote(value), auto, "5432")
}

func textNoListenerSet() string {
	return "spec.parentRefs: none names a ListenerSet of the route's own namespace: add {kind: ListenerSet, name: ...}, " +
		"which will be created with the route's number"
}

func textNoPorts(what Kind) string {
	if what == IsMux {
		return "spec.ports: there is none: declare name: placeholder, port: 101"
	}
	return "spec.ports: there is none: declare at least one, with a name"
}

func textPortEntry(entry string) string {
	return fmt.Sprintf("entry %s is not name:port: write http:8080, or http:auto", quote(entry))
}

func textUnknownPort(name string, names []string) string {
	if len(names) == 0 {
		return fmt.Sprintf("port %s is not one of this Service's ports, which have no names: give that name to one, or "+
			"remove the entry",
			quote(name))
	}
	wayOut := didYouMean(lower(name), names)
	if wayOut == "" { // a port may have been renamed in the spec alone
		wayOut = ": use one of these names, or remove the entry"
	}
	return fmt.Sprintf("port %s is not one of this Service's ports (%s)%s", quote(name), list(names), wayOut)
}

func textPortNamedTwice(name string) string {
	return fmt.Sprintf("port %s is there twice: keep one", quote(name))
}

func textOverride(name, value string) string {
	return fmt.Sprintf("port %s wants %s, which is neither a number from %d to %d in plain digits, nor a range such as "+
		"10000-10099, nor auto%s",
		quote(name), quote(value), MinPort, MaxPort, zeroHint(value))
}

func textClash(first, second, number string) string {
	return fmt.Sprintf("ports %s and %s both ask for %s: give one of them another number, or auto",
		quote(first), quote(second), number)
}

func textRangeTarget(port ChannelPort, target int32) string {
	run := port.Request.Run()
	return fmt.Sprintf("port %s asks for %s, and %d would go to port %d of a pod, which is above %d: ask for at most %d "+
		"numbers, or use a lower target port",
		quote(port.Name), run, run.Last, target+run.Last-run.First, MaxPort, MaxPort-target+1)
}

func textRangePlaceholder(port ChannelPort) string {
	return fmt.Sprintf("port %s asks for %s, and %d/TCP is the placeholder of a mux: ask for other numbers",
		quote(port.Name), port.Request.Run(), PlaceholderPort)
}

func textPortRangeNeedsGateways(port ChannelPort) string {
	return fmt.Sprintf("port %s asks for %s, and only muxes on gateways have ranges: on any other mux, the channel "+
		"isn't accepted and gets no port",
		quote(port.Name), port.Request.Run())
}

func textSourceRange(value string) string {
	return fmt.Sprintf("%s: %s is not a network: write one such as 10.0.0.0/8 or 2001:db8::/32", rangesField, quote(value))
}

func textTooManySourceRanges(count int) string {
	return fmt.Sprintf("%s: %d networks are too many, a channel may have %d: join neighbours, such as 10.0.0.0/8",
		rangesField, count, MaxEntries)
}

func textRangesAnnotation(key, value string) string {
	return fmt.Sprintf("%s: %s isn't honoured in this old annotation: write the networks into %s, which muxes on "+
		"gateways honour",
		key, quote(value), rangesField)
}

func textHostname(value string) string {
	hint := ""
	if !isASCII(value) {
		hint = ", in its ASCII form (xn--...)"
	}
	return fmt.Sprintf("%s is not a DNS name: write one such as app.example.com%s", quote(value), hint)
}

func textTooManyHostnames(count int) string {
	return fmt.Sprintf("%d names are too many, %d are gathered from one channel: spread them over several channels",
		count, MaxHostnames)
}

func textTooManyPorts(count int) string {
	return fmt.Sprintf("spec.ports: %d ports are too many, a channel may have %d: spread them over several channels",
		count, MaxChannelPorts)
}

func textTooManyRanges(count int) string {
	return fmt.Sprintf("%d ranges are too many, a mux may have %d: join neighbours, such as 20000-20099", count,
		MaxEntries)
}

func textTooManyNamespaces(count int) string {
	return fmt.Sprintf("%d entries are too many, a mux may have %d: name several namespaces at once, such as team-*",
		count, MaxEntries)
}

func textTooManyPatterns(count int) string {
	return fmt.Sprintf("%d patterns are too many, a mux may have %d: allow several names at once, such as "+
		"*.{namespace}.example.com",
		count, MaxEntries)
}

func textEmpty() string {
	return "is empty: give it a value, or take the annotation away"
}

func textPortRange(entry string) string {
	return fmt.Sprintf("%s is not a range of ports: write 20000-20099 or 21000, in plain digits, %d to %d%s",
		quote(entry), MinPort, MaxPort, zeroHint(entry))
}

func textReversed(entry string, first, last int32) string {
	return fmt.Sprintf("%s is backwards: write %d-%d", quote(entry), first, last)
}

func textOverlap(run, before PortRange) string {
	return fmt.Sprintf("%s and %s overlap: name each port once", before, run)
}

func textCap(value string) string {
	return fmt.Sprintf("%s is not a number of ports: write 1 to 2147483647 in plain digits%s", quote(value),
		zeroHint(value))
}

func textTwice(entry string) string {
	return fmt.Sprintf("%s is there twice: keep one", quote(entry))
}

func textNamespacePattern(entry string) string {
	return fmt.Sprintf("%s is not a namespace: write *, Same, or names in small letters where * stands for any part, "+
		"such as team-a,team-b-*", quote(entry))
}

func textHostnamePattern(entry string) string {
	return fmt.Sprintf("%s is not a DNS name: write *, or names where * stands for a part between dots and "+
		"{namespace} for the channel's namespace, such as *.{namespace}.example.com", quote(entry))
}

func textProtocol(entry string) string {
	return fmt.Sprintf("%s is not a protocol: write a list of TCP, UDP, SCTP", quote(entry))
}

func textConfigMapName(value string) string {
	return fmt.Sprintf("%s can't name a ConfigMap: write up to %d small letters, digits, dashes and dots",
		quote(value), maxDNSName)
}

func textDuration(value string) string {
	return fmt.Sprintf("%s is not a length of time, or too long: write one such as 30s, 10m, 1h30m or 24h", quote(value))
}

func textPlaceholder(value string) string {
	return fmt.Sprintf("%s is neither keep nor remove: write one of them", quote(value))
}

func textProvider(value string) string {
	return fmt.Sprintf("%s is none of aws, azure, gke and none: write one of them", quote(value))
}

func textAddress(value string) string {
	return fmt.Sprintf("%s is not an address: write one such as 192.0.2.1 or 2001:db8::1", quote(value))
}

func textTwoAddresses(value, family string) string {
	return fmt.Sprintf("%s is the second %s address: write at most one of each family", quote(value), family)
}

func textOtherFamily(value, family string) string {
	return fmt.Sprintf("%s is an %s address, and this mux has none of that family: add %s to spec.ipFamilies, or take "+
		"the address away",
		quote(value), family, family)
}

func textGateways(value string) string {
	return fmt.Sprintf("%s is not a number of gateways: write 1 to %d", quote(value), MaxGateways)
}

func textGeneration(value string) string {
	return fmt.Sprintf("%s is not a number that the reconciler wrote: take the annotation away, it comes back",
		quote(value))
}

func textTooMany() string {
	return fmt.Sprintf("reading stopped after these %d mistakes: correct them first", maxProblems)
}

func textMore(text string, count int) string {
	return fmt.Sprintf("%s (and %d more like it)", text, count)
}

// Warnings.

func textNotHonoured(part, value, wayOut string) string {
	return fmt.Sprintf("%s: %s has no effect on a channel: %s", plain(part), quote(value), wayOut)
}

func textOnGatewaysOnly(part, value, wayOut string) string {
	return fmt.Sprintf("%s: %s has an effect on a channel only on a mux on gateways: elsewhere, %s", plain(part),
		quote(value), wayOut)
}

func textExternalIPs(addresses string) string {
	return fmt.Sprintf("spec.externalIPs: every node takes the traffic to %s on this channel's own ports, past the mux, "+
		"even if the address belongs to others: remove the field, the channel gets the mux's address without it",
		quote(addresses))
}

func textRangesNeedGateways(value string) string {
	return fmt.Sprintf("%s: %s is honoured only if the mux is on gateways: on any other mux, the channel isn't accepted "+
		"and gets no port",
		rangesField, quote(value))
}

func textNodePorts() string {
	return "spec.allocateLoadBalancerNodePorts: this channel takes node ports that nothing uses: set it to false"
}

func textRedundant(name string, number int32) string {
	return fmt.Sprintf("port %s has number %d without this entry: leave the entry out, or the public number won't follow "+
		"when the port's number changes", quote(name), number)
}

func textLocalPolicy() string {
	return "spec.externalTrafficPolicy: with Local, a node passes its health check if it has a pod of any channel, but " +
		"drops the traffic of every channel without a pod on it: set Cluster"
}

func textProviderCap(p Provider, stated int) string {
	if stated == 0 {
		return fmt.Sprintf("max-ports: %s carries up to %d ports, so that is the cap: set it to %d or less to say so",
			p.Name, p.MaxPorts, p.MaxPorts)
	}
	return fmt.Sprintf("max-ports: %d is more than %s carries, so the cap is %d: set it to %d or less",
		stated, p.Name, p.MaxPorts, p.MaxPorts)
}

func textNotAddressable(key types.NamespacedName, defaultNamespace string) string {
	return fmt.Sprintf("metadata.name: no channel can name this mux: %s is longer than the %d characters that "+
		"Kubernetes allows in a loadBalancerClass: give it a shorter name, or put it in namespace %s",
		quote(key.Name+"."+key.Namespace), maxClass, defaultNamespace)
}

func textSame() string {
	return `"same" is a namespace of that name: write Same for the mux's own`
}

func textUnknownAnnotation(name string) string {
	wayOut := didYouMean(lower(name), settable())
	if wayOut == "" {
		wayOut = ": take it away"
	}
	return fmt.Sprintf("%s: there is no such annotation%s", quote(name), wayOut)
}

func textMisplaced(name string, on, belongs Kind) string {
	return fmt.Sprintf("%s: has no effect on a %s: it belongs on a %s", name, on, belongs)
}

func textNotOnGateways(name, class string) string {
	return fmt.Sprintf("%s: has no effect on a mux that isn't on gateways: take it away, or create the mux with "+
		"spec.loadBalancerClass: %s",
		name, class)
}

func textStray(name, prefix string, belongs place) string {
	switch belongs {
	case onMux:
		return fmt.Sprintf(`%s: has no effect on a Service that is no mux: add the annotation %s/%s: "true", `+
			"or take this one away", name, prefix, multiplexer)
	case onChannel:
		return fmt.Sprintf("%s: has no effect on a Service that is no channel: set spec.loadBalancerClass: %s/<mux>, "+
			"or take the annotation away", name, prefix)
	}
	return name + ": has no effect on a Service that is neither mux nor channel: take it away"
}

func textLabel(key, meant string) string {
	return fmt.Sprintf("%s is a label, which has no effect: write %s under metadata.annotations",
		plain(key), plain(meant))
}

func textPrefix(value, meant string) string {
	return fmt.Sprintf("%s has another prefix than svc-lb-mux reads: did you mean %s?", plain(value), plain(meant))
}
