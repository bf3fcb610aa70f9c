package decide

import (
	"maps"
	"net/netip"
	"slices"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/lease"
)

// down returns the backends that fail, as more than half of the live gateways report. Each live gateway has one voice
// about a backend. A gateway without a report, or whose probes aren't settled, says what the list says already: an
// agent that restarts must first probe each backend some times. A gateway that doesn't probe says that no backend
// fails. While no gateway is live, the list stays as it was. In a pool without probes it is empty, whatever gateways
// report. All gateways choose backends by this one list, so a connection gets the same backend on each of them.
func (d *deciding) down() []netip.AddrPort {
	if !d.Pool.ProbesBackends {
		return nil
	}
	live, voices := 0, map[netip.AddrPort]int{}
	for i := range d.Gateways {
		g := &d.Gateways[i]
		if !g.IsLive || !d.Pool.Gateways.Selects(g.Name, g.Labels) {
			continue
		}
		live++
		for _, backend := range d.failing(g.Report) {
			voices[backend]++
		}
	}
	if live == 0 {
		return d.base.Down
	}
	maps.DeleteFunc(voices, func(_ netip.AddrPort, n int) bool { return 2*n <= live })
	list := slices.SortedFunc(maps.Keys(voices), netip.AddrPort.Compare)
	return list[:min(len(list), claims.MaxDown)]
}

// failing returns the backends that fail by the word of one gateway, each once.
func (d *deciding) failing(report *lease.Report) []netip.AddrPort {
	switch {
	case report == nil, report.Probes != nil && !report.Probes.Settled:
		return d.base.Down
	case report.Probes == nil:
		return nil
	}
	list := slices.SortedFunc(slices.Values(report.Probes.Failing), netip.AddrPort.Compare)
	return slices.Compact(list)
}
