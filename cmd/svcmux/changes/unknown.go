package changes

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/validation"
)

// unreadLedger returns why the user may not read the ledger that a manifest names for its mux; empty if they may.
func (p *prediction) unreadLedger(world *look.World, mux types.NamespacedName) string {
	for _, manifest := range p.manifests {
		if keyOf(manifest) != mux {
			continue
		}
		ask := record.AskOf(plan.ReadMux(world.Language, manifest, false))
		wanted, _ := ask.Names()
		if why := world.Unread.ConfigMaps[types.NamespacedName{Namespace: mux.Namespace, Name: wanted}]; why != "" {
			return why
		}
	}
	return ""
}

// unknowns returns sentences about questions that stay open for a mux, because of missing rights.
func (p *prediction) unknowns(mux types.NamespacedName) []string {
	unread := p.unread[mux]
	var notes []string
	switch {
	case unread.Mux != "":
		notes = append(notes, "The result for its channels is unknown: you may not read the mux.")
	case unread.Ledger != "":
		notes = append(notes, "The numbers of auto ports are unknown: you may not read the ledger. It has the numbers in "+
			"grace and those of disabled channels, so a number that a channel asks for may be taken, too.")
	}
	if unread.Channels != "" && unread.Mux == "" {
		notes = append(notes, "You may not read other namespaces: channels there that wait for a number may get one that "+
			"becomes free.")
	}
	return notes
}

// requests returns the ports that the files ask for from a mux that the user may not read.
func (c *comparison) requests(key types.NamespacedName) []Port {
	var ports []Port
	for i := range c.after.World.Channels {
		if channel := &c.after.World.Channels[i]; channel.Key == key && c.inFiles[key] {
			for _, port := range channel.Ports {
				number, last, source := requestOf(port)
				ports = append(ports, Port{Name: port.Name, Protocol: string(port.Protocol), Change: Unknown, Source: source,
					After: number, AfterLast: last,
					AnyNumber: number == 0})
			}
		}
	}
	return ports
}

// request returns what a port asks for.
func (c *comparison) request(id plan.PortID) (number, last int32, source string) {
	for i := range c.after.World.Channels {
		if c.after.World.Channels[i].Key != id.Channel {
			continue
		}
		for _, port := range c.after.World.Channels[i].Ports {
			if port.Name == id.Name && port.Protocol == id.Protocol {
				return requestOf(port)
			}
		}
	}
	return 0, 0, ""
}

// requestOf returns the number that a port asks for, and the last one of a range; 0 for auto.
func requestOf(port validation.ChannelPort) (number, last int32, source string) {
	if port.Request.Kind == validation.Auto {
		return 0, 0, plan.Auto.String()
	}
	return port.Request.Number, port.Request.Last, plan.Static.String()
}

func messagesOf(problems []validation.Problem) string {
	messages := make([]string, 0, len(problems))
	for i := range problems {
		messages = append(messages, problems[i].Message)
	}
	return strings.Join(messages, "; ")
}
