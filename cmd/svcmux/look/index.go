package look

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/reconciler/sight"
)

// Index finds the objects of each mux in a World. After a change of the World, make a new Index.
type Index struct {
	*World
	channels map[types.NamespacedName][]*corev1.Service // by mux
	sources  map[types.NamespacedName][]*discoveryv1.EndpointSlice
	carried  map[types.NamespacedName][]*discoveryv1.EndpointSlice // by mux
	muxes    map[types.NamespacedName]bool
}

// Index returns the index of the world as it is now.
func (w *World) Index() *Index {
	x := &Index{
		World:    w,
		channels: map[types.NamespacedName][]*corev1.Service{},
		sources:  map[types.NamespacedName][]*discoveryv1.EndpointSlice{},
		carried:  map[types.NamespacedName][]*discoveryv1.EndpointSlice{},
		muxes:    map[types.NamespacedName]bool{},
	}
	for key, svc := range w.Services {
		kind := w.Language.Classify(svc)
		if kind.Mux() {
			x.muxes[key] = true
		}
		if kind.Channel() {
			mux, _ := w.Language.ParseClass(*svc.Spec.LoadBalancerClass)
			x.channels[mux] = append(x.channels[mux], svc)
			if mux.Name != "" {
				x.muxes[mux] = true
			}
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(w.Slices), plan.CompareKeys) {
		slice := w.Slices[key]
		if keys := w.Language.Keys(); project.IsOurSlice(keys, slice) {
			mux := project.MuxOfSlice(keys, slice)
			x.carried[mux] = append(x.carried[mux], slice)
			continue
		}
		service := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
		x.sources[service] = append(x.sources[service], slice)
	}
	return x
}

// Muxes returns the muxes that exist and those that channels name, sorted.
func (x *Index) Muxes() []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(x.muxes), plan.CompareKeys)
}

// Existing returns the muxes that exist, sorted.
func (x *Index) Existing() []types.NamespacedName {
	return slices.DeleteFunc(x.Muxes(), func(key types.NamespacedName) bool { return x.Services[key] == nil })
}

// Sight returns the sight of a mux.
func (x *Index) Sight(mux types.NamespacedName, now time.Time) (*sight.Sight, error) {
	return sight.Of(sight.Question{Language: x.Language, Mux: mux, Now: now, Onlooker: true}, &source{x, mux})
}

// source has the objects for the sight of one mux.
type source struct {
	*Index
	mux types.NamespacedName
}

func (s *source) Mux() (*corev1.Service, bool, error) {
	svc := s.Services[s.mux]
	if svc == nil {
		return nil, false, unreadable(s.World.Unread.Muxes[s.mux])
	}
	return svc, plan.DeclaresPlaceholder(svc), nil
}

func (s *source) Channels() ([]*corev1.Service, error) {
	return s.channels[s.mux], unreadable(s.World.Unread.Services)
}

func (s *source) Sources(channel types.NamespacedName) ([]*discoveryv1.EndpointSlice, error) {
	if s.World.Unread.NoSlices && claimants.IsService(channel) { // a listener has no slices of its own
		return nil, sight.Skipped{}
	}
	return s.sources[channel], unreadable(s.World.Unread.unreadSlices(channel.Namespace))
}

func (s *source) OnMux() ([]*discoveryv1.EndpointSlice, error) {
	if s.World.Unread.NoSlices && !s.World.Unread.SlicesOnMuxes[s.mux.Namespace] {
		return s.carried[s.mux], sight.Skipped{}
	}
	return s.carried[s.mux], unreadable(s.World.Unread.unreadSlices(s.mux.Namespace))
}

func (s *source) Ledger(mux *plan.ObservedMux) (plan.Reading, error) {
	ask := record.AskOf(mux)
	wanted, old := ask.Names()
	read := func(name string) (*record.Read, error) {
		key := types.NamespacedName{Namespace: s.mux.Namespace, Name: name}
		if name == "" || s.ConfigMaps[key] == nil {
			return nil, unreadable(s.World.Unread.ConfigMaps[key])
		}
		said := record.ReadOf(s.ConfigMaps[key], s.mux, s.Language.Keys())
		return &said, nil
	}
	inForce, err := read(wanted)
	if err != nil {
		return plan.Reading{}, err
	}
	before, err := read(old)
	if err != nil {
		return plan.Reading{}, err
	}
	return record.InForce(ask, inForce, before), nil
}

// RefusedSlices returns nothing: the condition of the channel tells whether its slices are refused.
func (*source) RefusedSlices(types.NamespacedName) string { return "" }

func unreadable(why string) error {
	if why == "" {
		return nil
	}
	return sight.Unreadable(why)
}
