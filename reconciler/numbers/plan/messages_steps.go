package plan

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// These texts give the purpose of a step, in dry runs and in Events about drift.

func textAnnotation(key, want string) string {
	if want == "" {
		return key + " goes"
	}
	if len(want) > maxQuoted {
		want = want[:maxQuoted] + "..."
	}
	return fmt.Sprintf("%s is %q", key, want)
}

// maxQuoted bounds a quoted value.
const maxQuoted = 60

func textAddress(address []corev1.LoadBalancerIngress) string {
	if len(address) == 0 {
		return "the address goes"
	}
	return "the address is " + strings.Join(addressList(address), ", ")
}

func addressList(address []corev1.LoadBalancerIngress) []string {
	var list []string
	for _, ingress := range address {
		list = append(list, ingress.IP+ingress.Hostname)
	}
	return list
}

func textLeftovers(left validation.Leftovers) string {
	all := left.Annotations
	if left.Finalizer != "" {
		all = append(all[:len(all):len(all)], left.Finalizer)
	}
	return "the original's leftovers go: " + strings.Join(all, ", ")
}

func textClaimGiven(c *Claim) string {
	return fmt.Sprintf("%s to %s (port %q, %s)", c.Numbers(), c.Owner.Channel, c.Owner.Name, c.Source)
}

func textUntil(until time.Time) string { return until.UTC().Format(time.RFC3339) }
