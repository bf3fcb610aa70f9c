package view

import "time"

// Schema names the version of all JSON that the console serves. Fields may come; what is here stays as it is.
const Schema = "svc-lb-mux/console/v1"

// State is everything that the overview shows.
type State struct {
	Schema string `json:"schema"`
	Process
	Muxes []Mux `json:"muxes"`
}

// Process is the one that serves the console.
type Process struct {
	Name    string    `json:"name"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	// Leader is false for one that waits to lead: it shows what it sees, and writes nothing.
	Leader    bool       `json:"leader"`
	DryRun    bool       `json:"dryRun"`
	Prefix    string     `json:"prefix"`
	Namespace string     `json:"namespace"` // of muxes that a class names without one
	Admission *Admission `json:"admission"` // null where nobody watches it
}

// Admission is whether bad muxes and channels are refused.
type Admission struct {
	Known   bool       `json:"known"`
	OnGuard bool       `json:"onGuard"`
	Faults  []Fault    `json:"faults"`
	Expires *time.Time `json:"expires,omitempty"` // of the certificate that is served
}

// Fault is one thing that is amiss with it.
type Fault struct {
	Reason  string `json:"reason"`
	Object  string `json:"object"`
	Message string `json:"message"`
}

// Mux is a mux with its channels.
type Mux struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// State is ok, pending, frozen, paused, deleting or missing; missing is a mux that channels name and that isn't there.
	State     string   `json:"state"`
	Reason    string   `json:"reason,omitempty"`
	Message   string   `json:"message,omitempty"`
	Addresses []string `json:"addresses"`
	Settings  Settings `json:"settings"`
	Usage     Usage    `json:"usage"`
	// Counts are channels by state.
	Counts map[string]int `json:"counts"`
	// Ranges are what auto ports come from, and Slots who has which number, in it and outside.
	Ranges []Range `json:"ranges"`
	Slots  []Slot  `json:"slots"`
	Ledger Ledger  `json:"ledger"`
	// Notes are things that stand about the mux, and Pending what is still to be written.
	Notes   []Note     `json:"notes"`
	Pending []Step     `json:"pending"`
	Passed  *time.Time `json:"passed,omitempty"` // when it was last looked after by this process
	Failed  string     `json:"failed,omitempty"` // what hindered that

	Channels []Channel `json:"channels,omitempty"`
}

// Settings are what a mux's owner set, defaults included.
type Settings struct {
	Provider          string `json:"provider,omitempty"`
	Class             string `json:"class,omitempty"`
	PortRange         string `json:"portRange,omitempty"`
	ExplicitRange     string `json:"explicitRange,omitempty"`
	AllowedNamespaces string `json:"allowedNamespaces,omitempty"`
	AllowedProtocols  string `json:"allowedProtocols,omitempty"`
	PerNamespace      int    `json:"maxPortsPerNamespace,omitempty"`
	Grace             string `json:"releaseGrace,omitempty"`
}

// Usage counts the mux's ports.
type Usage struct {
	Held      int `json:"held"`
	InGrace   int `json:"inGrace"`
	Foreign   int `json:"foreign"`
	Limit     int `json:"limit"`
	RangeSize int `json:"rangeSize"`
	RangeFree int `json:"rangeFree"`
}

// Range is a run of numbers, both ends included.
type Range struct {
	First int32 `json:"first"`
	Last  int32 `json:"last"`
}

// Slot is a public port that somebody has.
type Slot struct {
	Number   int32  `json:"number"`
	Protocol string `json:"protocol"`
	// State is held, withheld (its channel is disabled), releasing, grace or foreign.
	State   string     `json:"state"`
	Channel string     `json:"channel,omitempty"` // namespace/name
	Port    string     `json:"port,omitempty"`    // the channel's, or the foreign one's name
	Until   *time.Time `json:"until,omitempty"`   // of a number in grace
}

// Ledger is where claims are written down.
type Ledger struct {
	Name       string `json:"name,omitempty"`
	State      string `json:"state"` // good, edited, missing, unreadable, foreign, newer; empty without a mux
	Generation int64  `json:"generation"`
	Why        string `json:"why,omitempty"`
}

// Note is an Event that stands.
type Note struct {
	Warning bool   `json:"warning"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Step is an intended write, with its why.
type Step struct {
	Verb   string   `json:"verb"`
	Object string   `json:"object"`
	Why    []string `json:"why"`
}

// Channel is a channel and what was decided about it.
type Channel struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// State is programmed, unbacked (programmed, without a ready backend), pending, keeps (refused, with the ports that it
	// had), disabled, waiting, leaving or refused.
	State     string    `json:"state"`
	Accepted  bool      `json:"accepted"`
	Reason    string    `json:"reason"`
	Message   string    `json:"message"`
	Created   time.Time `json:"created"`
	Ports     []Port    `json:"ports"`
	Hostnames []string  `json:"hostnames,omitempty"`
	Backends  Backends  `json:"backends"`
}

// Port is one of a channel's ports.
type Port struct {
	Name     string `json:"name"`
	Protocol string `json:"protocol"`
	Port     int32  `json:"port"`
	Request  string `json:"request"`          // auto, or the number asked for
	Public   int32  `json:"public,omitempty"` // 0 if it has none
	Source   string `json:"source,omitempty"` // auto or static
	Live     bool   `json:"live"`             // it is on the mux
}

// Backends counts a channel's endpoints.
type Backends struct {
	Ready  int    `json:"ready"`
	Total  int    `json:"total"`
	Slices int    `json:"slices"` // of ours, on the mux
	Reason string `json:"reason,omitempty"`
}
