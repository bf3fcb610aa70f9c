package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// Plan is what is to be done about one mux, in the order of its fields from Reserve to Show, and what was decided.
type Plan struct {
	Mux types.NamespacedName
	// Confirm are channels that seem gone. Read them live, put what was found into World.Live, and plan again; until
	// then they keep what they have.
	Confirm []types.NamespacedName

	Reserve *LedgerWrite
	Hide    []ChannelPatch
	Publish *MuxPatch
	Settle  *LedgerWrite
	Show    []ChannelPatch

	// Freeze is set if nothing may be decided; then only addresses and backends flow.
	Freeze *Freeze
	// InForce are the claims that backends go by, once Reserve is written.
	InForce []Claim
	// Leaving are claims whose ports are still on the mux, and go with Publish: backends stay as long.
	Leaving []Claim
	// Unclaimed are ports that go with Publish, and that are channels' only by their names.
	Unclaimed []Unclaimed
	// Told are Events about the mux to send when all is done.
	Told []Event
	// Verdicts has one entry for each channel, sorted.
	Verdicts []Verdict
	// Standing are things to say about the mux for as long as they are so, sorted.
	Standing []Event
	// Changed are the namespaces of which ports are added or changed on the mux because their owners asked for it, sorted.
	Changed []string
	// Usage counts what is held of the mux.
	Usage Usage
	// Again is when to look once more though nothing changes; zero if there is no need.
	Again time.Time
	// InPlace is what World.InPlace should hold for whatever needs no writing.
	InPlace map[types.NamespacedName]Fingerprint
}

// Empty is true if there is nothing to write.
func (p *Plan) Empty() bool {
	return p.Reserve == nil && len(p.Hide) == 0 && p.Publish == nil && p.Settle == nil && len(p.Show) == 0
}

// Unclaimed is a port's name on the mux, and the channel that it tells of.
type Unclaimed struct {
	Name    string
	Channel types.NamespacedName
}

// Freeze says why nothing is decided.
type Freeze struct {
	Reason  validation.Reason
	Message string
}

// Usage counts the ports of a mux.
type Usage struct {
	Held      int // by channels, disabled ones included
	InGrace   int
	Foreign   int // ports that aren't ours, a placeholder that stays included
	Limit     int
	RangeSize int // of the range that auto ports come from
	RangeFree int // numbers of it that are free for TCP
}

// LedgerWrite is a ledger to store.
type LedgerWrite struct {
	Ledger Ledger
	Why    []string
}

// MuxPatch is all that is written on the mux, at once.
type MuxPatch struct {
	ResourceVersion string
	// Ports is the whole list, nil if it stays as it is.
	Ports []corev1.ServicePort
	// Added are the channels that get ports with it, in the order in which they are to be served. If the API server refuses the
	// patch, one of them may be why.
	Added []types.NamespacedName
	// Annotations to set; those to an empty value are taken away.
	Annotations map[string]string
	// DropFinalizer is the original's, if it is to go.
	DropFinalizer string
	Why           []string
	// Drift is true if somebody else's change is all that it undoes.
	Drift  bool
	Events []Event
	// Fingerprint is what World.InPlace should hold once this is written.
	Fingerprint Fingerprint
}

// ChannelPatch is all that is written on a channel, at once, through its status.
type ChannelPatch struct {
	Channel types.NamespacedName
	// ResourceVersion, if it is set, is what it must be at to be written.
	ResourceVersion string
	// Address is what it shows from now on, if SetAddress is true.
	Address    []corev1.LoadBalancerIngress
	SetAddress bool
	Conditions []metav1.Condition // to set
	Drop       []string           // types of conditions to take away
	// PortsNote is the ports annotation, taken away if empty, if SetNote is true.
	PortsNote string
	SetNote   bool
	// Leftovers of the original, to take away.
	Leftovers validation.Leftovers
	Why       []string
	// Drift is true if somebody else's change is all that it undoes.
	Drift  bool
	Events []Event
	// Fingerprint is what World.InPlace should hold once this is written.
	Fingerprint Fingerprint
}

// Event is something to tell people, on the mux or one of its channels.
type Event struct {
	Object  types.NamespacedName
	Warning bool
	Reason  validation.Reason
	Message string
}

// Verdict is what was decided about a channel.
type Verdict struct {
	Channel  types.NamespacedName
	Accepted bool
	// Reason and Message are those of the Accepted condition.
	Reason  validation.Reason
	Message string
	// Programmed is true once the Plan is carried out and the mux has an address.
	Programmed bool
	Ports      []PortVerdict // in the order of spec.ports
}

// PortVerdict is what a channel's port has.
type PortVerdict struct {
	Name     string
	Protocol corev1.Protocol
	Port     int32
	Public   int32 // 0 if it has none
	MuxName  string
	Source   Source
}
