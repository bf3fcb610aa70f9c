package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// verdicts are what was decided, for whoever asks.
type verdicts struct {
	list  []Verdict
	ports []PortVerdict // of all of them
}

func (p *pass) noVerdicts() verdicts {
	ports := 0
	for _, c := range p.sorted {
		ports += len(c.Ports)
	}
	return verdicts{make([]Verdict, 0, len(p.sorted)), make([]PortVerdict, 0, ports)}
}

func (v *verdicts) add(p *pass, c *member) {
	accepted, _ := p.acceptedCondition(c, &c.judgement)
	from := len(v.ports)
	for i := range c.Ports {
		v.ports = append(v.ports, p.portVerdict(c, &c.Ports[i]))
	}
	v.list = append(v.list, Verdict{
		Channel: c.Key, Accepted: accepted.Status == metav1.ConditionTrue,
		Reason: validation.Reason(accepted.Reason), Message: accepted.Message,
		Programmed: c.attached && len(p.w.Mux.Address) > 0 && !p.misses(c), Ports: v.ports[from:len(v.ports):len(v.ports)],
	})
}

func (p *pass) portVerdict(c *member, port *validation.ChannelPort) PortVerdict {
	verdict := PortVerdict{Name: port.Name, Protocol: port.Protocol, Port: port.Port}
	if claim := p.claimOf(c, port); claim != nil {
		verdict.Public, verdict.MuxName, verdict.Source = claim.Public, claim.MuxName, claim.Source
	}
	return verdict
}
