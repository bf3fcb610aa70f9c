package slices

import (
	"cmp"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// Empty is true if there is nothing to write.
func (s *Decision) Empty() bool { return len(s.Steps) == 0 }

// Backends decides about the backends of one channel.
func Decide(v View) Decision {
	out := Decision{Channel: v.Channel, Mux: v.Mux.Key, InPlace: map[types.NamespacedName]Mark{}}
	if v.Attached && v.Mux.IsMux && !v.ClaimsKnown {
		out.InPlace = v.InPlace
		return out
	}
	wanted := v.wanted()
	out.write(&v, wanted)
	out.remove(&v, wanted)
	sortSteps(out.Steps)
	if v.Attached {
		out.Backing = backingOf(v.Sources, v.Mux.Families, func(source *discoveryv1.EndpointSlice) bool {
			return len(carriedPorts(source.Ports, v.muxNames(source))) > 0
		})
	}
	return out
}

// wantedSlice is a slice that shall be there.
type wantedSlice struct {
	*discoveryv1.EndpointSlice
	source string
	mark   Mark
}

// wanted returns the slices that shall be there, sorted by source, and each name once.
func (v *View) wanted() map[types.NamespacedName]wantedSlice {
	all := map[types.NamespacedName]wantedSlice{}
	if !v.Attached || !v.Mux.IsMux || len(v.Claims) == 0 {
		return all
	}
	for _, source := range sortedByName(v.Sources) {
		if !v.isCarried(source) {
			continue
		}
		names := v.muxNames(source)
		ports := carriedPorts(source.Ports, names)
		if len(ports) == 0 {
			continue
		}
		slice := v.slice(source, ports)
		if _, twice := all[keyOf(slice)]; !twice {
			all[keyOf(slice)] = wantedSlice{slice, source.Namespace + "/" + source.Name,
				Mark{string(source.UID) + "@" + source.ResourceVersion, v.basis(names)}}
		}
	}
	return all
}

// write creates what isn't there and updates what isn't as it shall be.
func (s *Decision) write(v *View, wanted map[types.NamespacedName]wantedSlice) {
	there := map[types.NamespacedName]*discoveryv1.EndpointSlice{}
	for _, slice := range v.Slices {
		there[keyOf(slice)] = slice
	}
	for _, key := range sortedKeys(wanted) {
		want, is := wanted[key], there[key]
		drift := v.InPlace[key] == want.mark
		switch {
		case is == nil && v.Taken[key.Name]:
			s.Refused = append(s.Refused, NameTaken{key, want.source})
			continue
		case is == nil && v.Mux.Deleting:
			continue
		case is == nil:
			s.Steps = append(s.Steps, createStep(want, drift))
		case is.AddressType != want.AddressType:
			s.Steps = append(s.Steps, deleteStep(is, "its addresses are of another type", drift), createStep(want, drift))
		default:
			if step, differs := updateStep(is, want, drift); differs {
				s.Steps = append(s.Steps, step)
				break
			}
			s.InPlace[key] = want.mark
		}
		s.Carried += len(want.Endpoints)
		if drift {
			s.InPlace[key] = want.mark // until it is put right, it is still somebody else's doing
		}
	}
}

// remove takes away what nothing asks for any more.
func (s *Decision) remove(v *View, wanted map[types.NamespacedName]wantedSlice) {
	for _, slice := range v.Slices {
		if _, stays := wanted[keyOf(slice)]; !stays && slice.DeletionTimestamp == nil {
			step := deleteStep(slice, v.whyNot(slice), false)
			step.Stray, step.Drift = v.isStray(slice)
			s.Steps = append(s.Steps, step)
		}
	}
}

func createStep(want wantedSlice, drift bool) Step {
	why := "nothing carries its endpoints yet"
	if drift {
		why = "it was deleted"
	}
	return Step{Op: Create, Slice: want.EndpointSlice, Why: []string{why}, Drift: drift}
}

func deleteStep(is *discoveryv1.EndpointSlice, why string, drift bool) Step {
	return Step{Op: Delete, Slice: is, ResourceVersion: is.ResourceVersion, UID: is.UID,
		Why: []string{why}, Drift: drift}
}

func updateStep(is *discoveryv1.EndpointSlice, want wantedSlice, drift bool) (Step, bool) {
	differs, why := compare(is, want.EndpointSlice)
	if !differs.Any() {
		return Step{}, false
	}
	slice := *want.EndpointSlice
	slice.OwnerReferences = mergeOwners(is.OwnerReferences, slice.OwnerReferences)
	return Step{Op: Update, Slice: &slice, ResourceVersion: is.ResourceVersion, UID: is.UID,
		Differs: differs, Why: why, Drift: drift}, true
}

// sortSteps puts first what brings backends, then what moves them, then what takes them away; but a slice that has to
// make room for its successor goes right before it.
func sortSteps(steps []Step) {
	created := map[types.NamespacedName]bool{}
	for _, step := range steps {
		if step.Op == Create {
			created[keyOf(step.Slice)] = true
		}
	}
	rank := func(s Step) int {
		switch {
		case created[keyOf(s.Slice)], s.Op == Update && !s.Differs.Loses:
			return 0
		case s.Op == Update:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), plan.CompareKeys(keyOf(a.Slice), keyOf(b.Slice)))
	})
}
