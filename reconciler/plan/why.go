package plan

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// whyReserve returns the reasons for the ledger write before the mux's patch.
func (w *writing) whyReserve() []string {
	before := &w.before
	var why []string
	if before.mend != "" {
		why = append(why, before.mend)
	}
	was := make(map[Slot]Claim, len(before.ledger.Claims))
	for _, claim := range before.ledger.Claims {
		was[claim.Slot()] = claim
	}
	for _, claim := range w.claims {
		old, had := was[claim.Slot()]
		switch {
		case claim.State == Held && (!had || old.Owner != claim.Owner || old.State != Held || old.Last != claim.Last):
			why = append(why, textClaimGiven(claim))
		case claim.State == Releasing && had && old.State == Held:
			why = append(why, textLetGo(claim))
		}
	}
	if len(why) == 0 {
		why = []string{"what claims say of their ports is brought up to date"}
	}
	slices.Sort(why)
	return why
}

// whySettle returns the reasons for the ledger write after the mux's patch.
func whySettle(before, after *Ledger, mend string, mending bool) []string {
	var why []string
	if mending {
		why = append(why, mend)
	}
	is := make(map[Slot]Claim, len(after.Claims))
	for _, claim := range after.Claims {
		is[claim.Slot()] = claim
	}
	was := make(map[Slot]Claim, len(before.Claims))
	for _, claim := range before.Claims {
		was[claim.Slot()] = claim
		now, has := is[claim.Slot()]
		switch {
		case !has:
			why = append(why, fmt.Sprintf("%s is free", claim.Numbers()))
		case now.State == InGrace && claim.State != InGrace:
			why = append(why, fmt.Sprintf("%s is held for %s until %s", claim.Numbers(), claim.Owner.Channel, textUntil(now.Until)))
		case now.State == Releasing && claim.State == Held:
			why = append(why, textLetGo(&claim))
		case now != claim:
			why = append(why, fmt.Sprintf("%s of %s is brought up to date", claim.Numbers(), now.Owner.Channel))
		}
	}
	for _, claim := range after.Claims {
		if _, had := was[claim.Slot()]; !had {
			why = append(why, textClaimGiven(&claim))
		}
	}
	if !slices.Equal(before.Hostnames, after.Hostnames) {
		why = append(why, "DNS names have other holders")
	}
	return why
}

func textLetGo(c *Claim) string {
	return fmt.Sprintf("%s is let go by %s", c.Numbers(), c.Owner.Channel)
}

func textCondition(c metav1.Condition) string {
	return fmt.Sprintf("%s is %s (%s)", c.Type, c.Status, c.Reason)
}
