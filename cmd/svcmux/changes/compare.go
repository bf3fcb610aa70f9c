package changes

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/dryrun"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// side is the outcome of a mux, without the manifests or with them.
type side struct {
	dryrun.Outcome
	verdicts map[types.NamespacedName]*plan.Verdict
	ports    map[plan.PortID]plan.PortVerdict
	grants   map[plan.PortID]grant
}

func sideOf(cluster *dryrun.Cluster, outcome dryrun.Outcome) (side, error) {
	s := side{outcome, map[types.NamespacedName]*plan.Verdict{}, map[plan.PortID]plan.PortVerdict{}, nil}
	for i := range outcome.Plan.Verdicts {
		s.verdicts[outcome.Plan.Verdicts[i].Channel] = &outcome.Plan.Verdicts[i]
	}
	eachPort(outcome.Plan, func(id plan.PortID, port plan.PortVerdict) { s.ports[id] = port })
	var err error
	s.grants, err = grantsOf(cluster, outcome)
	return s, err
}

// comparison compares the two outcomes of a mux.
type comparison struct {
	*prediction
	mux           types.NamespacedName
	before, after side
	graceEnds     map[plan.Slot]time.Time
}

// compare adds a mux to the report if the mux or one of its channels changes.
func (p *prediction) compare(mux types.NamespacedName, before, after dryrun.Outcome) (err error) {
	c := &comparison{prediction: p, mux: mux, graceEnds: map[plan.Slot]time.Time{}}
	if c.before, err = sideOf(p.before, before); err != nil {
		return err
	}
	if c.after, err = sideOf(p.after, after); err != nil {
		return err
	}
	for _, claim := range after.World.Ledger.Ledger.Claims {
		if claim.State == plan.InGrace {
			c.graceEnds[claim.Slot()] = claim.Until
		}
	}
	keys := map[types.NamespacedName]bool{}
	for _, verdicts := range [...]map[types.NamespacedName]*plan.Verdict{c.before.verdicts, c.after.verdicts} {
		for key := range verdicts {
			keys[key] = true
		}
	}
	changed := c.describe()
	for _, key := range slices.SortedFunc(maps.Keys(keys), plan.CompareKeys) {
		if channel := c.channel(key); len(channel.Ports) > 0 {
			changed.Channels = append(changed.Channels, channel)
		}
	}
	if changed.Action != "" || len(changed.Channels) > 0 {
		p.report.Muxes = append(p.report.Muxes, changed)
	}
	return nil
}

// channel returns a channel with its ports that change.
func (c *comparison) channel(key types.NamespacedName) Channel {
	changed := Channel{Name: key.String(), Ports: []Port{}}
	if c.prediction.unread[c.mux].Mux != "" {
		changed.Ports = append(changed.Ports, c.requests(key)...)
		return changed
	}
	refused := c.reportsRefusal(key)
	for _, id := range c.portsOf(key) {
		if port := c.port(id, refused); port.Change != "" {
			changed.Ports = append(changed.Ports, port)
		}
	}
	if refused {
		changed.Reason, changed.Message = string(c.after.verdicts[key].Reason), c.after.verdicts[key].Message
	}
	return changed
}

// reportsRefusal is true for a channel that is refused with the files, if without them it doesn't exist, is accepted,
// is refused with another Change, or asks for or gets something else. If only the message differs, that is no change. A
// channel that stays disabled is reported only if the files take away a number that a port of it would get later.
func (c *comparison) reportsRefusal(key types.NamespacedName) bool {
	was, is := c.before.verdicts[key], c.after.verdicts[key]
	if is == nil || is.Accepted {
		return false
	}
	if is.Reason == plan.Disabled && was != nil && was.Reason == plan.Disabled {
		return slices.ContainsFunc(c.portsOf(key), func(id plan.PortID) bool {
			_, would := c.before.grants[id]
			_, will := c.after.grants[id]
			return would && !will
		})
	}
	if was == nil || was.Accepted || changeOf(was.Reason) != changeOf(is.Reason) {
		return true
	}
	return !reflect.DeepEqual(c.before.wish(key), c.after.wish(key)) ||
		slices.ContainsFunc(c.portsOf(key), func(id plan.PortID) bool {
			return c.before.grants[id] != c.after.grants[id] || c.before.ports[id] != c.after.ports[id]
		})
}

// wish returns the requests of a channel: all that was parsed from its Service, without the metadata and the ports that
// the reconciler recorded.
func (s *side) wish(key types.NamespacedName) (wish validation.Channel) {
	for i := range s.World.Channels {
		if s.World.Channels[i].Key == key {
			wish = s.World.Channels[i].Channel
		}
	}
	wish.Object, wish.Recorded = validation.Object{}, nil
	return wish
}
