package slices

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// View is all that a decision about one channel's backends is made from. Decision are never changed, and what comes of a
// View may share with them.
type View struct {
	Keys    validation.Keys
	Channel types.NamespacedName
	// Attached is true if the channel is there and names the mux.
	Attached bool
	Mux      Mux
	// Claims are the channel's on the mux, those in force. Unless ClaimsKnown, nobody has decided yet, and nothing is
	// done: what stands carries on.
	Claims      []plan.Claim
	ClaimsKnown bool
	// Ports are those of the channel's Service.
	Ports []corev1.ServicePort
	// Sources are the channel's slices, whoever writes them.
	Sources []*discoveryv1.EndpointSlice
	// Slices are ours of that channel, wherever they are.
	Slices []*discoveryv1.EndpointSlice
	// Taken are names of slices beside the mux that somebody else has.
	Taken map[string]bool
	// InPlace is what this process has seen in place as decided, by the slice. What differs now though nothing it was
	// decided from does, was changed by somebody else.
	InPlace map[types.NamespacedName]Mark
}

// Mux is a mux, as far as slices go.
type Mux struct {
	Key types.NamespacedName
	UID types.UID
	// IsMux is false if there is no such Service, or it isn't a mux.
	IsMux bool
	// Deleting is true if it is about to go: nothing new is begun.
	Deleting bool
	// Families are those of its addresses; none means that they aren't known, and all are carried.
	Families []corev1.IPFamily
}

// Decision is what is to be done about one channel's backends, in order, and what was decided.
type Decision struct {
	Channel, Mux types.NamespacedName
	// Steps bring backends before they take any away: an overlap is harmless, a gap isn't.
	Steps []Step
	// Refused are slices that can't be written, sorted by name.
	Refused []NameTaken
	Backing plan.Backing
	// Carried counts the endpoints that the mux has of the channel once the steps are done, ready or not.
	Carried int
	// InPlace is what View.InPlace should hold from now on.
	InPlace map[types.NamespacedName]Mark
}

// Op is what is done to a slice.
type Op uint8

// What can be done to a slice.
const (
	Create Op = iota
	Update
	Delete
)

func (o Op) String() string {
	switch o {
	case Update:
		return "update"
	case Delete:
		return "delete"
	case Create:
	}
	return "create"
}

// Step is one write.
type Step struct {
	Op Op
	// Slice is as it shall be, of ours; if it is deleted, as it is.
	Slice *discoveryv1.EndpointSlice
	// ResourceVersion is the one that was decided from, UID whose; empty if there is none yet.
	ResourceVersion string
	UID             types.UID
	// Differs says which parts an update is about.
	Differs Difference
	Why     []string
	// Drift is true if somebody else's change is all that it undoes.
	Drift bool
	// Stray is true for a slice that may be another channel's, under labels that somebody changed. That channel is to
	// have the time to say so before it is deleted.
	Stray bool
}

// NameTaken is a slice that isn't written, because its name is somebody else's.
type NameTaken struct {
	Slice types.NamespacedName
	// Source is the channel's slice that it would carry.
	Source string
}

// Mark stands for what a slice was decided from.
type Mark struct{ Source, Basis string }
