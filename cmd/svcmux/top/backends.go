package top

import (
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// listBackends returns a line for each backend of a channel of the muxes that the flags choose.
func listBackends(f *look.Flags, world *look.World, ask look.Ask) (*look.List, error) {
	index := world.Index()
	chosen, err := index.Choose(f, ask, "")
	if err != nil {
		return nil, err
	}
	list := &look.List{Header: []string{"CHANNEL", "BACKEND", "POD", "NODE", "READY"}}
	for _, mux := range chosen {
		seen, err := index.Sight(mux, ask.Now())
		if err != nil {
			return nil, err
		}
		channels := slices.Clone(seen.World.Channels)
		slices.SortFunc(channels, func(a, b plan.ObservedChannel) int { return plan.CompareKeys(a.Key, b.Key) })
		for i := range channels {
			name := channels[i].Key.String()
			if namespace := f.Kube.NamespaceGiven(); namespace != "" && mux.Namespace != namespace &&
				channels[i].Key.Namespace != namespace {
				continue
			}
			for _, slice := range seen.Sources[channels[i].Key] {
				for j := range slice.Endpoints {
					list.Rows = append(list.Rows, rowsOf(name, &slice.Endpoints[j])...)
				}
			}
		}
	}
	return list, nil
}

func rowsOf(channel string, endpoint *discoveryv1.Endpoint) []look.Row {
	pod, node, ready := "-", "-", "yes"
	if endpoint.TargetRef != nil {
		pod = endpoint.TargetRef.Name
	}
	if endpoint.NodeName != nil {
		node = *endpoint.NodeName
	}
	switch is := endpoint.Conditions; {
	case is.Terminating != nil && *is.Terminating:
		ready = "terminating"
	case is.Ready != nil && !*is.Ready:
		ready = "no"
	}
	var rows []look.Row
	for _, address := range endpoint.Addresses {
		rows = append(rows, look.Row{Name: channel + " " + address,
			Cells: []string{cli.Shown(channel), cli.Shown(address), cli.Shown(pod), cli.Shown(node), ready}})
	}
	return rows
}
