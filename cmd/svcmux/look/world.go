package look

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/sight"
	"nowake.ai/svc-lb-mux/validation"
)

// World has the objects that were read, and why others weren't. Nothing in it depends on how it was read.
type World struct {
	Language validation.Language
	// Services are muxes and channels, and those that a user named.
	Services map[types.NamespacedName]*corev1.Service
	// Slices are the EndpointSlices of channels, and ours on muxes.
	Slices map[types.NamespacedName]*discoveryv1.EndpointSlice
	// ConfigMaps are the ledgers; nil for one that doesn't exist.
	ConfigMaps map[types.NamespacedName]*corev1.ConfigMap
	// Listeners are those of muxes that are made for Gateways of the Gateway API.
	Listeners map[types.NamespacedName]sight.Claimants
	// Gateways are those whose Leases were read.
	Gateways []lease.Gateway
	Unread   Unread
	// Remarks are sentences about the whole, for standard error.
	Remarks []string

	keep func(types.NamespacedName) bool // a Service that a user named
}

// Unread says why objects couldn't be read. Each text is a sentence.
type Unread struct {
	// Services is about Services of other namespaces than ServicesIn.
	Services   string
	ServicesIn string
	// Muxes are single muxes.
	Muxes map[types.NamespacedName]string
	// Slices is about EndpointSlices of other namespaces than those of SlicesIn, if that isn't nil.
	Slices   string
	SlicesIn map[string]bool
	// NoSlices is true if the command needs no EndpointSlices, so that they weren't read. SlicesOnMuxes are namespaces
	// of muxes where all of ours were read nevertheless.
	NoSlices      bool
	SlicesOnMuxes map[string]bool
	// Listeners is about the listeners of Gateways of the Gateway API.
	Listeners string
	// Gateways is about the Leases of gateways.
	Gateways string
	// ConfigMaps are single ledgers.
	ConfigMaps map[types.NamespacedName]string
}

// NewWorld returns a world without objects. It keeps Services that are neither mux nor channel if keep says so.
func NewWorld(language validation.Language, keep func(types.NamespacedName) bool) *World {
	return &World{
		Language:   language,
		Services:   map[types.NamespacedName]*corev1.Service{},
		Slices:     map[types.NamespacedName]*discoveryv1.EndpointSlice{},
		ConfigMaps: map[types.NamespacedName]*corev1.ConfigMap{},
		Unread:     Unread{Muxes: map[types.NamespacedName]string{}, ConfigMaps: map[types.NamespacedName]string{}},
		keep:       keep,
	}
}

// PutService takes a Service if a command may need it. The fields that nobody reads are dropped: they are most of a
// large cluster.
func (w *World) PutService(svc *corev1.Service) {
	key := types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
	kind := w.Language.Classify(svc)
	if kind == validation.Stranger && !w.keep(key) {
		delete(w.Services, key) // it may have been a channel
		return
	}
	if !kind.Mux() {
		svc.ManagedFields, svc.Labels = nil, nil // a mux keeps both: for the declared placeholder, and for -l
		svc.Spec.Selector = nil
	}
	w.Services[key] = svc
}

// PutSlice takes an EndpointSlice of a channel or a mux.
func (w *World) PutSlice(slice *discoveryv1.EndpointSlice) {
	key := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Name}
	service := w.Services[types.NamespacedName{Namespace: slice.Namespace,
		Name: slice.Labels[discoveryv1.LabelServiceName]}]
	if !project.IsOurSlice(w.Language.Keys(), slice) && (service == nil || !w.Language.Classify(service).Channel()) {
		delete(w.Slices, key)
		return
	}
	slice.ManagedFields = nil
	w.Slices[key] = slice
}

// unreadSlices says why the EndpointSlices of a namespace weren't read; empty if they were.
func (u *Unread) unreadSlices(namespace string) string {
	if u.SlicesIn == nil || u.SlicesIn[namespace] {
		return ""
	}
	return u.Slices
}
