package validation

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// rangesField is the field for source ranges. Messages name it.
const rangesField = "spec.loadBalancerSourceRanges"

// SourceRangesOf returns the networks that may connect to a Service, as written there. The older annotation counts only
// without the field, as in Kubernetes. An annotation of white space restricts nothing.
func SourceRangesOf(svc *corev1.Service) []string {
	if ranges := svc.Spec.LoadBalancerSourceRanges; len(ranges) > 0 {
		return ranges
	}
	if text := svc.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]; trim(text) != "" {
		return strings.Split(text, ",")
	}
	return nil
}

// sourceRanges checks the source ranges of a channel, and returns them as messages show them. Only muxes on gateways
// honour them. The channel alone doesn't tell whether its mux is on gateways, so well-formed ranges get a warning.
func sourceRanges(svc *corev1.Service, found *Findings) string {
	ranges := SourceRangesOf(svc)
	if len(ranges) == 0 {
		return ""
	}
	// Sorted, so that the same ranges in another order are the same to the ratchet and in conditions.
	joined := strings.Join(slices.Sorted(slices.Values(ranges)), ",")
	const key = corev1.AnnotationLoadBalancerSourceRangesKey
	if value := svc.Annotations[key]; trim(value) != "" {
		found.problem(SourceRangesNotSupported, annotationField(key), "", value, textRangesAnnotation(key, value))
	}
	if len(svc.Spec.LoadBalancerSourceRanges) == 0 {
		return quote(joined)
	}
	if checkRanges(ranges, found) {
		found.warn(SourceRangesNeedGateways, rangesField, "", joined, textRangesNeedGateways(joined))
	}
	return quote(joined)
}

// checkRanges reports malformed networks, and too many of them. It returns whether all are well-formed.
func checkRanges(ranges []string, found *Findings) bool {
	if len(ranges) > MaxEntries {
		found.exceeds(InvalidSourceRanges, rangesField, textTooManySourceRanges(len(ranges)))
	}
	count := 0
	for _, text := range ranges {
		if isNetwork(strings.TrimSpace(text)) {
			continue
		}
		// the message has all ranges as its value: any change is a new problem to the ratchet
		if count++; count > maxProblems {
			found.problem(InvalidSourceRanges, rangesField, "", strings.Join(ranges, ","), rangesField+": "+textTooMany())
			break
		}
		found.problem(InvalidSourceRanges, rangesField, "", text, textSourceRange(text))
	}
	return count == 0
}

// isNetwork says that gateways can read the network. Kubernetes also takes numbers with leading zeros, and IPv4
// networks written as IPv6 ones.
func isNetwork(text string) bool {
	network, err := netip.ParsePrefix(text)
	return err == nil && !network.Addr().Is4In6()
}
