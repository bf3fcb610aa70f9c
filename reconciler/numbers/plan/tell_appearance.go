package plan

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/validation"
)

// appearance is what a channel ought to look like.
type appearance struct {
	address    []corev1.LoadBalancerIngress
	conditions []metav1.Condition
	// dropsBacking is true if the condition BackendsReady must go, because the channel shows no address.
	dropsBacking bool
	note         string
}

// show returns the difference between a channel and its wanted appearance.
func (t *telling) show(c *channel) ChannelPatch {
	want := t.wants(c)
	patch := ChannelPatch{Channel: c.Key, Leftovers: c.Leftovers}
	if !sameAddress(c.Address, want.address) {
		patch.Address, patch.SetAddress = want.address, true
		patch.Why = append(patch.Why, textAddress(want.address))
	}
	for i := range want.conditions {
		if condition := &want.conditions[i]; t.setCondition(c, condition, &patch) {
			patch.Why = append(patch.Why, textCondition(*condition))
		}
	}
	if want.dropsBacking && meta.FindStatusCondition(c.Conditions, t.w.Keys.BackendsReady) != nil {
		patch.Drop = append(patch.Drop, t.w.Keys.BackendsReady)
		patch.Why = append(patch.Why, t.w.Keys.BackendsReady+" goes")
	}
	if c.PortsNote != want.note {
		patch.PortsNote, patch.SetNote = want.note, true
		patch.Why = append(patch.Why, textAnnotation(t.w.Keys.Ports, want.note))
	}
	if !c.Leftovers.Empty() {
		patch.Why = append(patch.Why, textLeftovers(c.Leftovers))
	}
	if len(patch.Why) > 0 {
		patch.Content = want.content(c)
		patch.Events = append(t.channelEvents(c, &patch), t.backingEvents(c, &patch)...)
	}
	return patch
}

func (a *appearance) content(c *channel) uint64 {
	content := contentOf(string(c.UID), a.note).and(addressText(a.address)...)
	for i := range a.conditions {
		is := &a.conditions[i]
		content = content.and(is.Type, string(is.Status), is.Reason, is.Message)
	}
	return content.hash()
}

func (t *telling) wants(c *channel) appearance {
	want := appearance{note: t.portsNote(c), conditions: t.conditions[:0]}
	// a listener's note is only in memory, and this process has just started
	isForgotten := claimants.IsListener(c.Key) && c.PortsNote == ""
	if t.plan.Freeze != nil && !isForgotten {
		want.note = c.PortsNote // if the ledger is lost, the old note says which numbers the channel has
	}
	if c.showsAddress {
		want.address = t.address
	}
	if condition, said := t.acceptedCondition(c); said {
		want.conditions = append(want.conditions, condition)
	}
	want.conditions = append(want.conditions, t.programmedCondition(c))
	if condition, said := t.backingCondition(c); said {
		want.conditions = append(want.conditions, condition)
	} else {
		want.dropsBacking = !c.showsAddress
	}
	t.conditions = want.conditions // there is room for the next ones
	return want
}

// portsNote returns the ports annotation: the numbers of the channel's ports.
func (t *telling) portsNote(c *channel) string {
	if len(c.claims) == 0 {
		return ""
	}
	mappings := t.mappings[:0]
	for i := range c.Ports {
		port := &c.Ports[i]
		if claim := c.claimOf(port); claim != nil {
			mappings = append(mappings,
				validation.PortMapping{Name: port.Name, Port: port.Port, Public: claim.Public, Last: claim.Last})
		}
	}
	t.mappings, t.note = mappings, validation.AppendPorts(t.note[:0], mappings) // there is room for the next ones
	if string(t.note) == c.PortsNote {
		return c.PortsNote
	}
	return string(t.note)
}
