package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// verdictList is what was decided, for whoever asks.
func (p *pass) verdictList() {
	ports := 0
	for _, c := range p.channels {
		ports += len(c.Ports)
	}
	list, all := make([]Verdict, 0, len(p.channels)), make([]PortVerdict, 0, ports)
	for _, c := range p.sorted {
		j := &c.judgement
		accepted, _ := p.acceptedCondition(c, j)
		from := len(all)
		for i := range c.Ports {
			all = append(all, p.portVerdict(c, &c.Ports[i]))
		}
		list = append(list, Verdict{
			Channel: c.Key, Accepted: accepted.Status == metav1.ConditionTrue,
			Reason: validation.Reason(accepted.Reason), Message: accepted.Message,
			Programmed: j.attached && len(p.w.Mux.Address) > 0, Ports: all[from:len(all):len(all)],
		})
	}
	p.plan.Verdicts = list
}

func (p *pass) portVerdict(c *member, port *validation.ChannelPort) PortVerdict {
	verdict := PortVerdict{Name: port.Name, Protocol: port.Protocol, Port: port.Port}
	if claim := p.claimOf(c, port); claim != nil {
		verdict.Public, verdict.MuxName, verdict.Source = claim.Public, claim.MuxName, claim.Source
	}
	return verdict
}
