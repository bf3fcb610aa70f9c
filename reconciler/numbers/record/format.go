package record

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// These are versions of the format. schemaVersion is the original's, to whose fields we only add. The original would
// read a range as its first number, so a ledger with ranges has a version that the original refuses.
const (
	schemaVersion     = 1
	versionWithRanges = 2
)

// States of released claims, as they are written.
const (
	stateReleasing = "releasing"
	stateInGrace   = "inGrace"
)

// document is a ledger as JSON. Its fields are written in this order, and the checksum after them.
type document struct {
	SchemaVersion int64          `json:"schemaVersion"`
	Mux           muxRef         `json:"mux"`
	MuxUID        string         `json:"muxUID,omitempty"`
	HeldUntil     string         `json:"heldUntil,omitempty"`
	Provider      string         `json:"provider,omitempty"`
	Generation    int64          `json:"generation,omitempty"`
	PortClaims    list[entry]    `json:"portClaims"`
	Allocations   list[entry]    `json:"allocations,omitzero"`
	Released      list[entry]    `json:"released,omitempty"`
	Hostnames     list[hostname] `json:"hostnames,omitempty"`
	// Checksum is only read: see sealed.
	Checksum string `json:"checksum,omitempty"`
}

type muxRef struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (r muxRef) empty() bool               { return r == muxRef{} }
func (r muxRef) key() types.NamespacedName { return types.NamespacedName(r) }

// entry is a claim. The original writes the fields up to source, except lastPort. Its first versions wrote neither
// channelPort nor muxPort.
type entry struct {
	Namespace   string `json:"namespace"`
	Service     string `json:"service"`
	PortName    string `json:"portName"`
	Protocol    string `json:"protocol,omitempty"`
	ChannelPort int64  `json:"channelPort,omitempty"`
	MuxPort     int64  `json:"muxPort,omitempty"`
	Port        int64  `json:"port,omitempty"`
	LastPort    int64  `json:"lastPort,omitempty"`
	Source      string `json:"source,omitempty"`
	Name        string `json:"name,omitempty"`
	Since       string `json:"since,omitempty"`
	State       string `json:"state,omitempty"`
	Until       string `json:"until,omitempty"`
}

type hostname struct {
	Hostname  string `json:"hostname"`
	Namespace string `json:"namespace"`
}

func toDocument(ledger plan.Ledger) document {
	ledger = ledger.Clone()
	ledger.Sort()
	doc := document{
		SchemaVersion: schemaVersion,
		Mux:           muxRef(ledger.Mux),
		MuxUID:        string(ledger.MuxUID),
		HeldUntil:     formatTime(ledger.HeldUntil),
		Provider:      ledger.Provider,
		Generation:    ledger.Generation,
		PortClaims:    make([]entry, 0, len(ledger.Claims)),
		Allocations:   []entry{}, // the original writes an empty list, too
	}
	for i := range ledger.Claims {
		claim := &ledger.Claims[i]
		written := toEntry(claim)
		if claim.IsRange() {
			doc.SchemaVersion = versionWithRanges
		}
		if claim.State != plan.Held {
			doc.Released = append(doc.Released, written)
			continue
		}
		doc.PortClaims = append(doc.PortClaims, written)
		if claim.Source == plan.Auto {
			doc.Allocations = append(doc.Allocations, written.original())
		}
	}
	for _, holder := range ledger.Hostnames {
		doc.Hostnames = append(doc.Hostnames, hostname(holder))
	}
	return doc
}

func toEntry(claim *plan.Claim) entry {
	return entry{
		Namespace:   claim.Owner.Channel.Namespace,
		Service:     claim.Owner.Channel.Name,
		PortName:    claim.Owner.Name,
		Protocol:    string(claim.Owner.Protocol),
		ChannelPort: int64(claim.Port),
		MuxPort:     int64(claim.Public),
		Port:        int64(claim.Public),
		LastPort:    int64(claim.Last),
		Source:      claim.Source.String(),
		Name:        claim.MuxName,
		Since:       formatTime(claim.Since),
		State:       formatState(claim.State),
		Until:       formatTime(claim.Until),
	}
}

// original returns the entry without our additions.
func (e entry) original() entry {
	e.Name, e.Since, e.State, e.Until = "", "", "", ""
	return e
}

func formatState(state plan.State) string {
	switch state {
	case plan.Releasing:
		return stateReleasing
	case plan.InGrace:
		return stateInGrace
	case plan.Held:
		return ""
	}
	return state.String() // can't be read again, so Encode fails
}

func formatTime(t time.Time) string {
	if t = t.UTC().Truncate(time.Second); t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

// text returns the JSON of the document, sealed with its checksum.
func (d *document) text() ([]byte, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	return sealed(text), nil
}

func (d *document) packed() ([]byte, error) {
	text, err := d.text()
	switch {
	case err != nil:
		return nil, err
	case len(text) > UnpackedLimit || max(len(d.PortClaims), len(d.Released), len(d.Hostnames)) > maxListed:
		return nil, fmt.Errorf("its %d claims are more than would be read again. Move some of its channels to another mux",
			len(d.PortClaims)+len(d.Released))
	}
	return pack(text)
}
