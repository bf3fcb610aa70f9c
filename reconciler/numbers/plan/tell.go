package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// tell decides what each channel shows. The reconciler takes an address off before the ports go, and puts it on after
// they came.
func tell(p *pass) {
	t := &telling{pass: p}
	if p.w.Mux != nil {
		t.address = shown(p.w.Mux.Address)
	}
	p.plan.Verdicts = make([]Verdict, 0, len(p.channels))
	ports := 0
	for _, c := range p.channels {
		ports += len(c.Ports)
	}
	t.ports = make([]PortVerdict, 0, ports)
	for _, c := range p.channels {
		t.channel(c)
		p.plan.Verdicts = append(p.plan.Verdicts, t.verdictOf(c))
		t.edges.record(c, meta.FindStatusCondition(c.Conditions, p.w.Keys.BackendsReady))
	}
	t.tellEdges(t.edges)
}

// telling keeps buffers that are used again for each channel: there are thousands.
type telling struct {
	*pass
	address    []corev1.LoadBalancerIngress // the mux's, as channels show it
	edges      edges
	conditions []metav1.Condition
	mappings   []validation.PortMapping
	note       []byte
	ports      []PortVerdict // of all channels, one after the other
}

func (t *telling) channel(c *channel) {
	hides := !c.showsAddress && len(c.Address) > 0
	if c.deferred {
		if hides {
			t.hideOnly(c)
		}
		return
	}
	patch := t.show(c)
	switch {
	case len(patch.Why) == 0:
	case patch.SetAddress && len(patch.Address) == 0 && patch.SetNote && slices.ContainsFunc(c.claims, t.isMissing):
		t.hideOnly(c)
		// after Publish: until then the ports annotation proves that the port was on the mux, see wasShown
		t.plan.Show = append(t.plan.Show, patch)
	case patch.SetAddress && len(patch.Address) == 0:
		t.plan.Hide = append(t.plan.Hide, patch)
	default:
		t.plan.Show = append(t.plan.Show, patch)
	}
}

func (t *telling) hideOnly(c *channel) {
	t.plan.Hide = append(t.plan.Hide, ChannelPatch{Channel: c.Key, SetAddress: true, Why: []string{textAddress(nil)}})
}

func (t *telling) verdictOf(c *channel) Verdict {
	accepted, _ := t.acceptedCondition(c)
	verdict := Verdict{
		Channel: c.Key, Accepted: accepted.Status == metav1.ConditionTrue, Reason: validation.Reason(accepted.Reason),
		Message:    accepted.Message,
		Programmed: c.showsAddress && len(t.w.Mux.Address) > 0 && t.lacks(c) == nil && !t.isContested(c),
	}
	first := len(t.ports)
	for i := range c.Ports {
		port := &c.Ports[i]
		is := PortVerdict{Name: port.Name, Protocol: port.Protocol, Port: port.Port}
		if claim := c.claimOf(port); claim != nil {
			is.Public, is.Last, is.MuxName, is.Source = claim.Public, claim.Last, claim.MuxName, claim.Source
		}
		t.ports = append(t.ports, is)
	}
	verdict.Ports = slices.Clip(t.ports[first:])
	return verdict
}

// lacks returns a claim whose port the API server refuses to put back on the mux; nil if every port is there.
func (p *pass) lacks(c *channel) *Claim {
	if !p.m.Refused[c.Key].Withheld {
		return nil
	}
	if at := slices.IndexFunc(c.claims, p.isMissing); at >= 0 {
		return c.claims[at]
	}
	return nil
}
