package decide

import (
	"maps"
	"net/netip"
	"slices"

	"nowake.ai/svc-lb-mux/gateway/claims"
)

// down returns the backends that fail, as more than half of the live gateways with settled probes report. While no live gateway has settled
// probes, the list stays as it was: an agent that restarts must first probe each backend some times. If no live gateway probes at all, the
// list is empty. All gateways choose backends by this one list, so a connection gets the same backend on each of them.
func (d *deciding) down() []netip.AddrPort {
	voters, live, votes := 0, false, map[netip.AddrPort]int{}
	isKnown := true
	for i := range d.Gateways {
		g := &d.Gateways[i]
		if !g.IsLive || g.Report == nil || !d.Pool.Gateways.Selects(g.Name, g.Labels) {
			continue
		}
		live = true
		if g.Report.Probes == nil {
			continue
		}
		if !g.Report.Probes.Settled {
			isKnown = false
			continue
		}
		voters++
		for _, backend := range g.Report.Probes.Failing {
			votes[backend]++
		}
	}
	if voters == 0 && (!live || !isKnown) {
		return d.base.Down
	}
	maps.DeleteFunc(votes, func(_ netip.AddrPort, n int) bool { return 2*n <= voters })
	list := slices.SortedFunc(maps.Keys(votes), netip.AddrPort.Compare)
	return list[:min(len(list), claims.MaxDown)]
}
