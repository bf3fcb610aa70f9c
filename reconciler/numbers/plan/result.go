package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// Plan has the writes for one mux, in the order of the fields from Reserve to Show, and the decisions behind them.
type Plan struct {
	Mux types.NamespacedName
	// Confirm names Services that must be read live, sorted: channels that would lose something, and the mux in the cases
	// of confirmMux. A plan with such names must not be carried out. Read them, put the answers into the World, and decide
	// again.
	Confirm []types.NamespacedName

	Reserve *LedgerWrite
	Hide    []ChannelPatch
	Publish *MuxPatch
	Settle  *LedgerWrite
	Show    []ChannelPatch

	// Freeze is set if nothing may be decided; then only addresses and backends flow.
	Freeze *Freeze
	// InForce are the claims whose channels get their backends carried, once Reserve is written.
	InForce []Claim
	// Leaving are claims whose ports Publish takes off the mux. Their backends stay until then.
	Leaving []Claim
	// Told are Events about the mux, each sent once, after all writes.
	Told []Event
	// Verdicts has one entry for each channel, sorted.
	Verdicts []Verdict
	// Standing are Events about the mux that hold for as long as their cause lasts, sorted.
	Standing []Event
	// Changed are the namespaces whose channels get or change ports on the mux because their owners asked for it, sorted.
	Changed []string
	// Usage counts the ports of the mux.
	Usage Usage
	// Again is when the next pass is due even if nothing changes; zero if none is due. A write needs none, because its
	// event causes a pass.
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
	RangeFree int // numbers of that range that are free for TCP
}

// Verdict is the decision about a channel.
type Verdict struct {
	Channel  types.NamespacedName
	Accepted bool
	// Reason and Message are those of the Accepted condition.
	Reason  validation.Reason
	Message string
	// Programmed is true if, once the Plan is carried out, all ports are on the mux, and the mux has an address.
	Programmed bool
	Ports      []PortVerdict // in the order of spec.ports
}

// PortVerdict is what a channel's port has.
type PortVerdict struct {
	Name     string
	Protocol corev1.Protocol
	Port     int32
	Public   int32 // 0 if the port has no number
	Last     int32 // the last number of a range; otherwise 0
	MuxName  string
	Source   Source
}

// Span returns the public numbers of the port. Without one, it has the number 0.
func (p *PortVerdict) Span() Span { return NewSpan(p.Public, p.Last, p.Protocol) }
