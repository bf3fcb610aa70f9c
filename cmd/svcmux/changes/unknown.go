package changes

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/reconciler/ledger/codec"
	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// unreadLedger says why the ledger can't be read that a manifest names for its mux; empty if it can.
func (f *foretelling) unreadLedger(world *look.World, mux types.NamespacedName) string {
	for _, manifest := range f.manifests {
		if keyOf(manifest) != mux {
			continue
		}
		ask := codec.AskOf(plan.ReadMux(world.Language, manifest, false))
		wanted, _ := ask.Names()
		if why := world.Unread.ConfigMaps[types.NamespacedName{Namespace: mux.Namespace, Name: wanted}]; why != "" {
			return why
		}
	}
	return ""
}

// unknowns are sentences about what can't be foretold of a mux.
func (f *foretelling) unknowns(mux types.NamespacedName) []string {
	unread := f.unread[mux]
	var notes []string
	switch {
	case unread.Mux != "":
		notes = append(notes, "What becomes of its channels can't be known: you may not read the mux.")
	case unread.Ledger != "":
		notes = append(notes, "Which numbers auto ports get can't be known: you may not read the ledger, which knows the numbers in grace and those of disabled channels. "+
			"A number that is asked for may be one of them.")
	}
	if unread.Channels != "" && unread.Mux == "" {
		notes = append(notes, "Channels of other namespaces that wait for a number aren't known: they may get one that becomes free.")
	}
	return notes
}

// requestsOf are the ports of a channel whose mux can't be read.
func requestsOf(channel *plan.ObservedChannel) []Port {
	var ports []Port
	for _, port := range channel.Ports {
		asked := Port{Name: port.Name, Protocol: string(port.Protocol), Change: Unknown, Source: "static", After: port.Request.Number}
		if port.Request.Kind == validation.Auto {
			asked.Source, asked.AnyNumber = "auto", true
		}
		ports = append(ports, asked)
	}
	return ports
}

func messagesOf(problems []validation.Problem) string {
	messages := make([]string, 0, len(problems))
	for i := range problems {
		messages = append(messages, problems[i].Message)
	}
	return strings.Join(messages, "; ")
}
