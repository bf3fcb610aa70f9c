package changes

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/imagine"
	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// comparing is the comparison of one mux.
type comparing struct {
	*foretelling
	mux           types.NamespacedName
	before, after imagine.State
	graces        map[plan.Slot]time.Time       // when a number's grace ends
	later         map[plan.PortID]laterPort     // ports that get a number after a grace
	verdicts      map[types.NamespacedName]both // by channel
}

type both struct{ before, after *plan.Verdict }

// compare adds a mux to the report if it, or one of its channels, changes.
func (f *foretelling) compare(mux types.NamespacedName, before, after imagine.State) error {
	c := &comparing{f, mux, before, after, map[plan.Slot]time.Time{}, nil, map[types.NamespacedName]both{}}
	for _, claim := range after.World.Ledger.Ledger.Claims {
		if claim.State == plan.InGrace {
			c.graces[claim.Slot()] = claim.Until
		}
	}
	for i := range before.Plan.Verdicts {
		verdict := &before.Plan.Verdicts[i]
		c.verdicts[verdict.Channel] = both{before: verdict}
	}
	for i := range after.Plan.Verdicts {
		verdict := &after.Plan.Verdicts[i]
		c.verdicts[verdict.Channel] = both{c.verdicts[verdict.Channel].before, verdict}
	}
	if err := c.wait(); err != nil {
		return err
	}
	told := c.told()
	for _, key := range slices.SortedFunc(maps.Keys(c.verdicts), plan.CompareKeys) {
		if channel := c.channel(key); channel != nil {
			told.Channels = append(told.Channels, *channel)
		}
	}
	if told.Action != "" || len(told.Channels) > 0 {
		told.Unread, told.Notes = c.unread[mux].Why(), append(told.Notes, c.unknowns(mux)...)
		f.report.Muxes = append(f.report.Muxes, told)
	}
	return nil
}

// channel returns what changes for a channel; nil if nothing does.
func (c *comparing) channel(key types.NamespacedName) *Channel {
	verdicts := c.verdicts[key]
	told := &Channel{Name: key.String(), Ports: []Port{}}
	if c.unread[c.mux].Mux != "" {
		if told.Ports = c.requests(key); len(told.Ports) == 0 {
			return nil
		}
		return told
	}
	refused := verdicts.after != nil && !verdicts.after.Accepted && c.tells(key, verdicts)
	for _, id := range portsOf(verdicts) {
		port := c.port(id, verdicts, refused)
		if port.Change != "" {
			told.Ports = append(told.Ports, port)
		}
	}
	if len(told.Ports) == 0 {
		return nil
	}
	if refused {
		told.Reason, told.Message = string(verdicts.after.Reason), verdicts.after.Message
	}
	return told
}

// tells is true if the refusal of a channel comes from the files: they have the channel, or its verdict changes.
func (c *comparing) tells(key types.NamespacedName, verdicts both) bool {
	was, is := verdicts.before, verdicts.after
	if is.Reason == plan.Disabled && was != nil && was.Reason == plan.Disabled {
		return false
	}
	return c.inFiles[key] || was == nil || was.Accepted || was.Reason != is.Reason
}

// requests are the ports that the files ask for from a mux that can't be read.
func (c *comparing) requests(key types.NamespacedName) []Port {
	if !c.inFiles[key] {
		return nil
	}
	for i := range c.after.World.Channels {
		if c.after.World.Channels[i].Key == key {
			return requestsOf(&c.after.World.Channels[i])
		}
	}
	return nil
}

// portsOf returns the ports that a channel has after or before: those of its spec in their order, then those that go.
func portsOf(verdicts both) []plan.PortID {
	var all []plan.PortID
	for _, verdict := range [...]*plan.Verdict{verdicts.after, verdicts.before} {
		if verdict == nil {
			continue
		}
		for _, port := range verdict.Ports {
			if id := (plan.PortID{Channel: verdict.Channel, Name: port.Name, Protocol: port.Protocol}); !slices.Contains(all, id) {
				all = append(all, id)
			}
		}
	}
	return all
}

func find(verdict *plan.Verdict, id plan.PortID) (found plan.PortVerdict, is bool) {
	if verdict == nil {
		return found, false
	}
	for _, port := range verdict.Ports {
		if port.Name == id.Name && port.Protocol == id.Protocol {
			return port, true
		}
	}
	return found, false
}

// port returns what changes for a port. Its Change is empty if nothing does.
func (c *comparing) port(id plan.PortID, verdicts both, refused bool) Port {
	was, _ := find(verdicts.before, id)
	is, asks := find(verdicts.after, id)
	told := Port{Name: id.Name, Protocol: string(id.Protocol), Before: was.Public, After: is.Public}
	if asks {
		told.Source = is.Source.String()
	}
	switch later, waits := c.later[id]; {
	case asks && waits:
		told.Change, told.After, told.InSeconds = Given, later.number, seconds(later.at.Sub(c.foretelling.after.Now()))
		told.Source = later.source.String()
		if was.Public != 0 {
			told.Change = Moved
		}
	case asks && refused:
		told.Change = refusal(verdicts.after.Reason)
		c.ask(id, &told)
	case was.Public == is.Public:
	case was.Public == 0:
		told.Change = Given
	case is.Public == 0 && c.after.Plan.Freeze != nil:
		told.Change, told.After, told.Source = Waiting, was.Public, was.Source.String()
	case is.Public == 0:
		told.Change, told.Source = Freed, was.Source.String()
		told.InSeconds = seconds(c.graces[plan.Slot{Number: was.Public, Protocol: id.Protocol}].Sub(c.foretelling.after.Now()))
	default:
		told.Change = Moved
	}
	if told.Source == plan.Auto.String() && (told.Change == Given || told.Change == Moved) && c.unread[c.mux].Ledger != "" {
		told.After, told.AnyNumber = 0, true
	}
	return told
}

func seconds(d time.Duration) int64 { return max(int64(d.Round(time.Second).Seconds()), 0) }
