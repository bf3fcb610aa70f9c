package top

import (
	"strconv"
	"strings"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	console "nowake.ai/svc-lb-mux/reconciler/console/view"
)

// listTraffic returns a line for each of the busiest ports of the muxes that the flags choose. Only gateways count.
func listTraffic(f *look.Flags, world *look.World, ask look.Ask) (*look.List, error) {
	index := world.Index()
	chosen, err := index.Choose(f, ask, "")
	if err != nil {
		return nil, err
	}
	list := &look.List{Header: []string{"MUX", "NUMBER", "CHANNEL", "KB/S", "PACKETS/S", "CONNS/S", "MB", "CONNS"}}
	namespace := f.Kube.NamespaceGiven()
	for _, mux := range chosen {
		seen, err := index.Sight(mux, ask.Now())
		if err != nil {
			return nil, err
		}
		for _, line := range console.TrafficOf(seen, world.Gateways) {
			if namespace != "" && mux.Namespace != namespace && !strings.HasPrefix(line.Channel, namespace+"/") {
				continue
			}
			list.Rows = append(list.Rows, trafficRow(&line))
		}
	}
	return list, nil
}

func trafficRow(t *console.PortTraffic) look.Row {
	const kilo, mega = 1e3, 1e6
	channel := "of the mux"
	if t.Channel != "" {
		channel = cli.Shown(t.Channel)
	}
	return look.Row{Name: t.Mux + ":" + t.Span().String(), Cells: []string{cli.Shown(t.Mux), t.Span().String(), channel,
		amount(t.PerSecond.Bytes / kilo), amount(t.PerSecond.Packets), amount(t.PerSecond.Connections),
		amount(float64(t.Total.Bytes) / mega),
		strconv.FormatUint(t.Total.Connections, 10)}}
}

// amount writes small numbers with one digit after the point.
func amount(n float64) string {
	const small = 10
	if n < small {
		return strconv.FormatFloat(n, 'f', 1, 64)
	}
	return strconv.FormatFloat(n, 'f', 0, 64)
}
