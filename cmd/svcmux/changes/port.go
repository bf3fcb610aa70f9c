package changes

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// portsOf returns the ports of a channel: first those that its spec has with the manifests, in the order of the spec,
// then those that go.
func (c *comparison) portsOf(key types.NamespacedName) []plan.PortID {
	var all []plan.PortID
	for _, verdict := range [...]*plan.Verdict{c.after.verdicts[key], c.before.verdicts[key]} {
		if verdict == nil {
			continue
		}
		for _, port := range verdict.Ports {
			if id := (plan.PortID{Channel: key, Name: port.Name, Protocol: port.Protocol}); !slices.Contains(all, id) {
				all = append(all, id)
			}
		}
	}
	return all
}

// port returns a port of a channel; its Change is empty if nothing changes.
func (c *comparison) port(id plan.PortID, refused bool) Port {
	was := c.before.ports[id]
	is, asks := c.after.ports[id]
	port := Port{Name: id.Name, Protocol: string(id.Protocol), Before: was.Public, BeforeLast: was.Last, After: is.Public,
		AfterLast: is.Last}
	if asks {
		port.Source = is.Source.String()
	}
	grant, waits := c.after.grants[id]
	switch {
	case waits && !c.inFiles[id.Channel] && grant == c.before.grants[id] && was.Span() == is.Span():
		// it gets the number also without the files
	case waits:
		port.Change, port.After, port.AfterLast = Given, grant.numbers.First, grant.last()
		port.InSeconds = secondsUntil(grant.at, c.prediction.after.Now)
		port.Source = grant.source.String()
		if was.Public != 0 {
			port.Change = Moved
		}
	case asks && refused:
		port.Change = changeOf(c.after.verdicts[id.Channel].Reason)
		port.Asked, port.AskedLast, port.Source = c.request(id)
	case was.Span() == is.Span():
	case was.Public == 0:
		port.Change = Given
	case is.Public == 0 && c.after.Plan.Freeze != nil:
		port.Change, port.After, port.AfterLast, port.Source = Waiting, was.Public, was.Last, was.Source.String()
	case is.Public == 0:
		port.Change, port.Source = Freed, was.Source.String()
		port.InSeconds = secondsUntil(c.graceEnds[plan.Slot{Number: was.Public, Protocol: id.Protocol}],
			c.prediction.after.Now)
	default:
		port.Change = Moved
	}
	if port.Source == plan.Auto.String() && (port.Change == Given || port.Change == Moved) &&
		c.prediction.unread[c.mux].Ledger != "" {
		port.After, port.AfterLast, port.AnyNumber = 0, 0, true
	}
	return port
}

// changeOf is the change of a port whose channel is refused for a reason.
func changeOf(reason validation.Reason) Change {
	switch reason {
	case plan.Disabled:
		return Withdrawn
	case plan.Waiting, plan.Contested:
		return Waiting
	}
	return Refused
}

func secondsUntil(end, now time.Time) int64 {
	return max(int64(end.Sub(now).Round(time.Second).Seconds()), 0)
}
