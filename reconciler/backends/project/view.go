package project

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// View is everything that a decision about one channel is made from. Decide changes nothing of it, and a Decision may
// share objects with it.
type View struct {
	Keys    validation.Keys
	Channel types.NamespacedName
	// Mux is the mux that the channel names.
	Mux Mux
	// Claims are the channel's claims in force on the mux. ClaimsKnown is false until a pass has decided about the mux for
	// the first time: until then, slices stay as they are.
	Claims      []plan.Claim
	ClaimsKnown bool
	// Ports are the ports of the channel's Service.
	Ports []corev1.ServicePort
	// Room is how many shared endpoints the channel may have on a mux on gateways: those that other channels don't have.
	Room int
	// Settings are the settings of the channel that gateways honour.
	Settings Settings
	// Sources are the EndpointSlices of the channel's Service.
	Sources []*discoveryv1.EndpointSlice
	// Carried are the slices that the mux has for the channel. All of them are in the mux's namespace.
	Carried []*discoveryv1.EndpointSlice
	// Taken are the names that carried slices need and that foreign slices in the mux's namespace have.
	Taken map[string]bool
}

// Mux is what carried slices need of a mux.
type Mux struct {
	Key types.NamespacedName
	UID types.UID
	// IsMux is false if there is no such Service, or it isn't a mux.
	IsMux bool
	// Deleting is true while the mux is being deleted: no slice is created any more.
	Deleting bool
	// OnGateways is true for a mux on gateways. Their agents read no channels, so the mux's slices bring the channel's
	// settings.
	OnGateways bool
	// Families are the families of the mux's addresses. Empty means that they aren't known: then every family is carried.
	Families []corev1.IPFamily
}

// Settings are settings of a channel, as its owner wrote them. An agent refuses settings that it can't read.
type Settings struct {
	// SourceRanges are the networks that may connect. Empty means that every network may.
	SourceRanges  []string
	Affinity      corev1.ServiceAffinity
	TrafficPolicy corev1.ServiceExternalTrafficPolicy
}

// SettingsOf returns the settings of a channel.
func SettingsOf(svc *corev1.Service) Settings {
	return Settings{SourceRanges: validation.SourceRangesOf(svc), Affinity: svc.Spec.SessionAffinity,
		TrafficPolicy: svc.Spec.ExternalTrafficPolicy}
}

// Decision is what to write for one channel.
type Decision struct {
	Channel, Mux types.NamespacedName
	// Steps add endpoints before they remove any: a pod in two slices does no harm, a missing pod does.
	Steps []Step
	// Taken are the slices that can't be written because a foreign slice has their name, with the message for people.
	Taken map[types.NamespacedName]string
	// Carried counts the endpoints that the mux has for the channel after the steps, ready or not.
	Carried int
	// Shared counts the shared endpoints among them, once for each port. Excess is nil if no limit cut the channel's
	// endpoints.
	Shared int
	Excess *Excess
}

// Empty is true if there is nothing to write.
func (d *Decision) Empty() bool { return len(d.Steps) == 0 }

// Op is the kind of a step.
type Op uint8

// The kinds of steps.
const (
	Create Op = iota
	Update
	Delete
)

func (o Op) String() string { return [...]string{"create", "update", "delete"}[o] }

// Step is one write of a slice.
type Step struct {
	Op Op
	// Slice is the slice as it must be; for a deletion, as it is.
	Slice *discoveryv1.EndpointSlice
	// ResourceVersion and UID are those of the slice that an update or a deletion was decided from.
	ResourceVersion string
	UID             types.UID
	Why             []string
	// Loses is true if the slice loses an endpoint or a port.
	Loses bool
}
