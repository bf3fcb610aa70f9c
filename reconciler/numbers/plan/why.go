package plan

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// whyLedger returns the reasons for a ledger write: the mistake that is mended, and the changes.
func whyLedger(mend string, before, after *Ledger) []string {
	var why []string
	if mend != "" {
		why = append(why, mend)
	}
	was := &slots[*Claim]{}
	for i := range before.Claims {
		was.set(before.Claims[i].Slot(), &before.Claims[i])
	}
	for i := range after.Claims {
		now := &after.Claims[i]
		old := was.at(now.Slot())
		was.set(now.Slot(), nil)
		switch {
		case now.held() && (old == nil || !old.held() || old.Owner != now.Owner || old.Last != now.Last):
			why = append(why, textClaimGiven(now))
		case now.State == Releasing && old != nil && old.held():
			why = append(why, fmt.Sprintf("%s is released by %s", now.Numbers(), now.Owner.Channel))
		case now.State == InGrace && (old == nil || old.State != InGrace):
			why = append(why, fmt.Sprintf("%s is held for %s until %s", now.Numbers(), now.Owner.Channel, textUntil(now.Until)))
		case old == nil || !now.same(old):
			why = append(why, fmt.Sprintf("%s of %s is brought up to date", now.Numbers(), now.Owner.Channel))
		}
	}
	for i := range before.Claims {
		if gone := &before.Claims[i]; was.at(gone.Slot()) != nil {
			why = append(why, gone.Numbers()+" is free")
		}
	}
	if !slices.Equal(before.Hostnames, after.Hostnames) {
		why = append(why, "DNS names have other holders")
	}
	return why
}

func textCondition(c metav1.Condition) string {
	return fmt.Sprintf("%s is %s (%s)", c.Type, c.Status, c.Reason)
}
