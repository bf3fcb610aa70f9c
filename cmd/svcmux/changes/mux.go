package changes

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/imagine"
	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// laterPort is a port that gets a number when a grace is over.
type laterPort struct {
	number int32
	source plan.Source
	at     time.Time
}

// mostWaits bounds the moments to which the copy goes on.
const mostWaits = 32

// wait lets the copy's clock go on, from the end of one grace to the next, as long as channels are refused: some may get their numbers
// then.
func (c *comparing) wait() error {
	c.later = map[plan.PortID]laterPort{}
	copied, state := c.foretelling.after, c.after
	for range mostWaits {
		next := nextGrace(state)
		if next.IsZero() || !anyRefused(state.Plan) {
			return nil
		}
		copied = copied.At(next)
		var err error
		if state, err = copied.Rest(c.mux); err != nil {
			return err
		}
		for _, verdict := range state.Plan.Verdicts {
			for _, port := range verdict.Ports {
				c.note(plan.PortID{Channel: verdict.Channel, Name: port.Name, Protocol: port.Protocol}, port, next)
			}
		}
	}
	return nil
}

// note notes the first number that a port gets after a grace. An incumbent whose edit is refused keeps its number until then.
func (c *comparing) note(id plan.PortID, port plan.PortVerdict, at time.Time) {
	now, _ := find(c.verdicts[id.Channel].after, id)
	if _, known := c.later[id]; !known && port.Public != 0 && port.Public != now.Public {
		c.later[id] = laterPort{port.Public, port.Source, at}
	}
}

// nextGrace is when the next grace ends; zero if there is none.
func nextGrace(state imagine.State) time.Time {
	var next time.Time
	for _, claim := range state.World.Ledger.Ledger.Claims {
		if claim.State == plan.InGrace && claim.Until.After(state.World.Now) && (next.IsZero() || claim.Until.Before(next)) {
			next = claim.Until
		}
	}
	return next
}

func anyRefused(p *plan.Plan) bool {
	for i := range p.Verdicts {
		if !p.Verdicts[i].Accepted {
			return true
		}
	}
	return false
}

// refusal is the change of a port whose channel isn't accepted.
func refusal(reason validation.Reason) Change {
	switch reason {
	case plan.Disabled:
		return Withdrawn
	case plan.Waiting, plan.Contested:
		return Waiting
	}
	return Refused
}

// ask notes what a refused port asks for.
func (c *comparing) ask(id plan.PortID, told *Port) {
	for i := range c.after.World.Channels {
		if c.after.World.Channels[i].Key != id.Channel {
			continue
		}
		for _, port := range c.after.World.Channels[i].Ports {
			if port.Name != id.Name || port.Protocol != id.Protocol {
				continue
			}
			told.Asked, told.Source = port.Request.Number, plan.Static.String()
			if port.Request.Kind == validation.Auto {
				told.Asked, told.Source = 0, plan.Auto.String()
			}
		}
	}
}

// told returns what changes for the mux itself.
func (c *comparing) told() Mux {
	was, is := c.before.World.Mux, c.after.World.Mux
	told := Mux{Name: c.mux.String(), Channels: []Channel{}}
	if was != nil {
		told.Ports, told.Limit = len(was.Ports), c.before.Plan.Usage.Limit
	}
	if is != nil {
		told.After, told.Limit = len(is.Ports), c.after.Plan.Usage.Limit
	}
	told.Settings = c.settings()
	switch {
	case c.unread[c.mux].Mux != "":
	case was == nil && is != nil:
		told.Action = "created"
	case was != nil && is == nil:
		told.Action = "removed"
	case len(told.Settings) > 0:
		told.Action = "changed"
	}
	if c.after.Plan.Freeze != nil {
		told.Freeze = c.after.Plan.Freeze.Message
	}
	if !c.after.Settled && c.unread[c.mux].Mux == "" {
		told.Notes = append(told.Notes, "The outcome isn't certain: the mux doesn't come to rest.")
	}
	return told
}

// settings are the annotations of the mux that change.
func (c *comparing) settings() []Setting {
	var changed []Setting
	was, is := annotations(c.foretelling.before.Services[c.mux]), annotations(c.foretelling.after.Services[c.mux])
	for _, key := range imagine.Settings(c.foretelling.before.Language.Keys()) {
		if was[key] != is[key] {
			changed = append(changed, Setting{key, was[key], is[key]})
		}
	}
	return changed
}

func annotations(svc *corev1.Service) map[string]string {
	if svc == nil {
		return nil
	}
	return svc.Annotations
}
