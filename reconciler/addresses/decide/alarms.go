package decide

import (
	"cmp"
	"fmt"
	"slices"
)

// alarms collects what a person must look at: problems of gateways, and claims that can't be read.
func (d *deciding) alarms() {
	add := func(gateway, reason, message string) { d.Alarms = append(d.Alarms, Alarm{gateway, reason, message}) }
	for i := range d.Gateways {
		g := &d.Gateways[i]
		if !g.IsLive {
			add(g.Name, GatewayStale, textGatewayStale(g.Name))
		}
		if !d.Pool.Gateways.Selects(g.Name, g.Labels) {
			add(g.Name, GatewayUnselected, textUnselected(g.Name, d.Pool.Name))
		}
		d.addressAlarms(g)
		if g.Facts != nil && g.Facts.Capacity > d.Pool.MaxCapacity {
			add(g.Name, CapacityLimited, textCapacity(g.Name, g.Facts.Capacity, d.Pool.Name, d.Pool.MaxCapacity))
		}
		for _, problem := range g.Problems {
			add(g.Name, GatewayUnreadable, problem)
		}
		if g.Report == nil || !g.IsLive {
			continue
		}
		for _, fault := range g.Report.Faults {
			add(g.Name, GatewayFault, fmt.Sprintf("%s: %s", fault.Reason, fault.Message))
		}
		if g.Report.Omitted > 0 {
			add(g.Name, ReportCut, textCut(g.Name, g.Report.Omitted))
		}
	}
	if d.Stored.Problem != "" {
		add("", ClaimsUnreadable, d.Stored.Problem)
	}
	d.sortAlarms()
}

func (d *deciding) sortAlarms() {
	slices.SortFunc(d.Alarms, func(a, b Alarm) int {
		return cmp.Or(cmp.Compare(a.Gateway, b.Gateway), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
}

// addressAlarms tells of addresses of the pool that a gateway says are its own.
func (d *deciding) addressAlarms(g *Gateway) {
	if g.Facts == nil {
		return
	}
	for _, a := range g.Facts.Addresses {
		if d.Pool.Ranges.Contains(a) && !d.Pool.Excluded.Contains(a) {
			d.Alarms = append(d.Alarms, Alarm{g.Name, AddressInPool, textInPool(g.Name, a, d.Pool.Name)})
		}
	}
}
