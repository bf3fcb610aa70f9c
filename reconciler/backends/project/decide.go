package project

import (
	"cmp"
	"maps"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// Decide returns what to write so that the mux has one slice for each source slice of the channel with a claimed port.
func Decide(v View) Decision {
	d := Decision{Channel: v.Channel, Mux: v.Mux.Key, Taken: map[types.NamespacedName]string{}}
	if v.Mux.IsMux && !v.ClaimsKnown {
		return d
	}
	wanted := v.wanted()
	d.Excess = v.limit(wanted)
	for _, demand := range demands(maps.Values(wanted)) {
		d.Shared += demand.shared(MaxEndpoints)
	}
	d.write(&v, wanted)
	d.remove(&v, wanted)
	slices.SortStableFunc(d.Steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), plan.CompareKeys(keyOf(a.Slice), keyOf(b.Slice)))
	})
	return d
}

// wanted returns the slices that the mux must have for the channel, by name.
func (v *View) wanted() map[string]*discoveryv1.EndpointSlice {
	all := map[string]*discoveryv1.EndpointSlice{}
	if !v.Mux.IsMux {
		return all
	}
	for _, source := range sortedByName(v.Sources) {
		if IsOurSlice(v.Keys, source) || !carries(v.Mux.Families, source.AddressType) {
			continue
		}
		name := SliceName(v.Mux.Key, v.Channel, source.Name, source.AddressType)
		ports := carriedPorts(source.Ports, v.muxNames(source))
		if len(ports) > 0 && all[name] == nil {
			all[name] = v.slice(name, source, ports)
		}
	}
	return all
}

// write adds the steps that create missing slices and update those that differ. A slice can't change its address type,
// so write deletes a slice of another type, and the next pass creates it again.
func (d *Decision) write(v *View, wanted map[string]*discoveryv1.EndpointSlice) {
	there := map[string]*discoveryv1.EndpointSlice{}
	for _, slice := range v.Carried {
		there[slice.Name] = slice
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		want, is := wanted[name], there[name]
		switch {
		case is == nil && v.Taken[name]:
			d.Taken[keyOf(want)] = textTaken(keyOf(want), v.Channel.Namespace+"/"+want.Labels[v.Keys.Source])
			continue
		case is == nil && v.Mux.Deleting:
			continue
		case is == nil:
			d.Steps = append(d.Steps, Step{Op: Create, Slice: want, Why: []string{"it isn't there"}})
		case is.AddressType != want.AddressType:
			d.Steps = append(d.Steps, deletion(is, "its addresses are of another type"))
			continue
		default:
			if why, loses := compare(is, want); why != nil {
				d.Steps = append(d.Steps,
					Step{Op: Update, Slice: want, ResourceVersion: is.ResourceVersion, UID: is.UID, Why: why, Loses: loses})
			}
		}
		d.Carried += len(want.Endpoints)
	}
}

// remove adds the steps that delete slices which aren't wanted any more.
func (d *Decision) remove(v *View, wanted map[string]*discoveryv1.EndpointSlice) {
	for _, slice := range v.Carried {
		if wanted[slice.Name] == nil && slice.DeletionTimestamp == nil {
			d.Steps = append(d.Steps, deletion(slice, "no source of the channel needs it"))
		}
	}
}

func deletion(is *discoveryv1.EndpointSlice, why string) Step {
	return Step{Op: Delete, Slice: is, ResourceVersion: is.ResourceVersion, UID: is.UID, Why: []string{why}}
}

// rank orders the steps: first those that lose nothing, then updates that lose an endpoint or a port, then deletions.
func (s *Step) rank() int {
	switch {
	case s.Op == Delete:
		return 2
	case s.Loses:
		return 1
	}
	return 0
}
