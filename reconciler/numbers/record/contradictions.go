package record

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// contradiction returns the first contradiction in a sorted ledger.
//
// Of a released claim, only the numbers count: its former owner may hold another claim under the same name.
func contradiction(ledger *plan.Ledger) error {
	furthest := map[corev1.Protocol]*plan.Claim{} // the claim that reaches furthest so far
	owners := make(map[plan.PortID]*plan.Claim, len(ledger.Claims))
	names := make(map[string]*plan.Claim, len(ledger.Claims))
	for i := range ledger.Claims {
		claim := &ledger.Claims[i]
		other := furthest[claim.Owner.Protocol]
		if other != nil && claim.Public <= max(other.Public, other.Last) {
			return fmt.Errorf("%d/%s is claimed by both %s and %s",
				claim.Public, claim.Owner.Protocol, describe(other), describe(claim))
		}
		furthest[claim.Owner.Protocol] = claim
		if claim.State != plan.Held {
			continue
		}
		if other := owners[claim.Owner]; other != nil {
			return fmt.Errorf("%s claims both %d and %d", describe(claim), other.Public, claim.Public)
		}
		owners[claim.Owner] = claim
		if other := names[claim.MuxName]; other != nil && claim.MuxName != "" {
			return fmt.Errorf("%s and %s both have the name %s on the mux", describe(other), describe(claim), claim.MuxName)
		}
		names[claim.MuxName] = claim
	}
	return hostnameContradiction(ledger.Hostnames)
}

// hostnameContradiction returns the first contradiction in a sorted list of holders.
func hostnameContradiction(holders []plan.HostnameHolder) error {
	for i, holder := range holders {
		if !validation.IsLabel(holder.Namespace) {
			return fmt.Errorf("hostnames: %s can't be a namespace", short(holder.Namespace))
		}
		if i > 0 && holders[i-1].Hostname == holder.Hostname {
			return fmt.Errorf("hostnames: %s has two holders, namespaces %s and %s",
				short(holder.Hostname), holders[i-1].Namespace, holder.Namespace)
		}
	}
	return nil
}

func describe(claim *plan.Claim) string {
	return fmt.Sprintf("port %s/%s of %s", claim.Owner.Name, claim.Owner.Protocol, claim.Owner.Channel)
}
