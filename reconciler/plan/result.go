package plan

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// Plan has the writes for one mux, in the order of the fields from Reserve to Show, and the decisions behind them.
type Plan struct {
	Mux types.NamespacedName
	// Confirm names Services that a live read must confirm, sorted: channels that would lose something, and the mux where its ledger
	// is rebuilt or moves. A plan with such names must not be carried out. Read them, put the answers into the World, and decide again.
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
	// Told are Events about the mux to send when all is done.
	Told []Event
	// Verdicts has one entry for each channel, sorted.
	Verdicts []Verdict
	// Standing are things to say about the mux for as long as they are so, sorted.
	Standing []Event
	// Changed are the namespaces of which ports are added or changed on the mux because their owners asked for it, sorted.
	Changed []string
	// Usage counts the ports of the mux.
	Usage Usage
	// Again is when to look once more though nothing changes; zero if there is no need.
	Again time.Time
}

// Empty is true if there is nothing to write.
func (p *Plan) Empty() bool {
	return p.Reserve == nil && len(p.Hide) == 0 && p.Publish == nil && p.Settle == nil && len(p.Show) == 0
}

// Usage counts the ports of a mux. A range counts as many ports as it has numbers.
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
	// Added are the channels that get ports with it, in the order in which they are served. If the API server refuses the
	// patch, one of them may be why.
	Added []types.NamespacedName
	// Annotations to set; those to an empty value are taken away.
	Annotations map[string]string
	// DropFinalizer is the original's finalizer if the patch removes it.
	DropFinalizer string
	Why           []string
	Events        []Event
	// Content identifies what the mux looks like once this is written. The same content twice in a row means that another writer
	// undid the first write.
	Content uint64
}

// ChannelPatch is all that is written on a channel, at once, through its status.
type ChannelPatch struct {
	Channel types.NamespacedName
	// ResourceVersion is the version that the channel must have for the write; empty for any.
	ResourceVersion string
	// Address is the address that the channel shows from now on, if SetAddress is true.
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
	Events    []Event
	// Content identifies what the channel looks like once this is written, as in MuxPatch.
	Content uint64
}

// Event is something to tell people, on the mux or one of its channels.
type Event struct {
	Object  types.NamespacedName
	Warning bool
	Reason  validation.Reason
	Message string
}

// Type is the type of the Event in Kubernetes.
func (e *Event) Type() string {
	if e.Warning {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}

// Note is the message, cut to Kubernetes' limit.
func (e *Event) Note() string {
	const limit = 1024
	if len(e.Message) <= limit {
		return e.Message
	}
	return strings.ToValidUTF8(e.Message[:limit-3], "") + "..."
}

// Verdict is the decision about a channel.
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
	Last     int32 // the last number of a range; otherwise 0
	MuxName  string
	Source   Source
}

// Span returns the numbers of the port, if it has any.
func (p *PortVerdict) Span() Span { return NewSpan(p.Public, p.Last, p.Protocol) }
