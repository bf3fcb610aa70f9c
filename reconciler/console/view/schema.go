package view

import "time"

// Schema is the version of the console's JSON. Fields may be added; existing fields don't change.
const Schema = "svc-lb-mux/console/v1"

// State is the content of the overview.
type State struct {
	Schema string `json:"schema"`
	Process
	Muxes []Mux `json:"muxes"`
}

// Process is the process that serves the console.
type Process struct {
	Name    string    `json:"name"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	// Leader says that this process leads. A process that doesn't lead shows its view and writes nothing.
	Leader    bool       `json:"leader"`
	DryRun    bool       `json:"dryRun"`
	Prefix    string     `json:"prefix"`
	Namespace string     `json:"namespace"` // of muxes whose class has no namespace
	Admission *Admission `json:"admission"` // null if this process doesn't check it
}

// Admission says whether admission is on guard.
type Admission struct {
	Known   bool       `json:"known"`
	OnGuard bool       `json:"onGuard"`
	Faults  []Fault    `json:"faults"`
	Expires *time.Time `json:"expires,omitempty"` // when the served certificate expires
}

// Fault is one fault of admission.
type Fault struct {
	Reason  string `json:"reason"`
	Object  string `json:"object"`
	Message string `json:"message"`
}

// Mux is a mux with its channels.
type Mux struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// State is ok, pending, uncarried (no gateway answers for its address), frozen, paused, deleting, missing, or unread
	// if the reader may not read it. A missing mux doesn't exist, but channels name it.
	State     string   `json:"state"`
	Reason    string   `json:"reason,omitempty"`
	Message   string   `json:"message,omitempty"`
	Addresses []string `json:"addresses"`
	CarriedBy string   `json:"carriedBy,omitempty"` // the gateways that answer for the addresses, separated by commas
	Settings  Settings `json:"settings"`
	Usage     Usage    `json:"usage"`
	// Counts are the numbers of channels by state.
	Counts map[string]int `json:"counts"`
	// Ranges are the numbers for auto ports. Slots are the numbers in use, inside and outside the ranges.
	Ranges []Range `json:"ranges"`
	Slots  []Slot  `json:"slots"`
	Ledger Ledger  `json:"ledger"`
	// Notes are lasting conditions of the mux, and Pending the writes still to be made.
	Notes   []Note     `json:"notes"`
	Pending []Step     `json:"pending"`
	Passed  *time.Time `json:"passed,omitempty"` // the last pass of this process
	Failed  string     `json:"failed,omitempty"` // the error of that pass
	Gateway *Gateway   `json:"gateway,omitempty"`

	// Channels are the mux's channels. If the mux is made for a Gateway, its listeners are among them.
	Channels []Channel `json:"channels,omitempty"`
}

// Gateway is the Gateway of the Gateway API that a mux is made for.
type Gateway struct {
	Name      string `json:"name,omitempty"` // namespace/name; empty while it is unknown
	Listeners int    `json:"listeners"`      // those among the channels
	// Unknown says that this process doesn't know the listeners. Those that have numbers are shown.
	Unknown bool `json:"unknown,omitempty"`
}

// Settings are the settings of a mux, defaults included.
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

// Range is a range of numbers, both ends included.
type Range struct {
	First int32 `json:"first"`
	Last  int32 `json:"last"`
}

// Slot is a public number and protocol in use.
type Slot struct {
	Number   int32  `json:"number"`
	Last     int32  `json:"last,omitempty"` // the last number of a range
	Protocol string `json:"protocol"`
	// State is held, withheld (held by a channel that is disabled, or that may have no port on the mux now), releasing,
	// grace or foreign.
	State   string     `json:"state"`
	Channel string     `json:"channel,omitempty"` // namespace/name
	Port    string     `json:"port,omitempty"`    // the name of the channel's port, or of the foreign port
	Until   *time.Time `json:"until,omitempty"`   // the end of the grace
}

// Ledger is the ConfigMap that stores the claims.
type Ledger struct {
	Name       string `json:"name,omitempty"`
	State      string `json:"state"` // good, edited, missing, unreadable, foreign, newer, unread; empty without a mux
	Generation int64  `json:"generation"`
	Why        string `json:"why,omitempty"`
}

// Note is a lasting condition of the mux, with the fields of an Event.
type Note struct {
	Warning bool   `json:"warning"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Step is an intended write and its reasons.
type Step struct {
	Verb   string   `json:"verb"`
	Object string   `json:"object"`
	Why    []string `json:"why"`
}

// Channel is a channel and its verdict.
type Channel struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// State is programmed, unbacked (programmed, without a ready backend), pending, keeps (edit refused, the ports
	// stay), disabled, waiting, leaving, refused, or unknown for a listener that this process doesn't know.
	State     string    `json:"state"`
	Accepted  bool      `json:"accepted"`
	Reason    string    `json:"reason"`
	Message   string    `json:"message"`
	Created   time.Time `json:"created"`
	Ports     []Port    `json:"ports"`
	Hostnames []string  `json:"hostnames,omitempty"`
	Backends  Backends  `json:"backends"`
	// Listener is set for a listener. Its name is then such as gateway/edge/web or listenerset/broker/tcp.
	Listener *Listener `json:"listener,omitempty"`
}

// Listener is a listener of a Gateway or a ListenerSet.
type Listener struct {
	Gateway     string      `json:"gateway"`               // namespace/name
	ListenerSet string      `json:"listenerSet,omitempty"` // namespace/name; empty for a listener of the Gateway itself
	Name        string      `json:"name"`
	Conditions  []Condition `json:"conditions"` // in the status of its Gateway or ListenerSet
	Routes      []Route     `json:"routes"`     // those that name it, the oldest first
}

// Route is a TCPRoute or a UDPRoute with a listener as its parent.
type Route struct {
	Kind string `json:"kind"`
	Name string `json:"name"` // namespace/name
	// Carried says that the listener's packets go to this route's backends.
	Carried    bool        `json:"carried"`
	Conditions []Condition `json:"conditions"` // in its status, about this parent
}

// Port is a port of a channel.
type Port struct {
	Name     string `json:"name"`
	Protocol string `json:"protocol"`
	Port     int32  `json:"port"`
	Request  string `json:"request"`          // auto, or the number asked for
	Public   int32  `json:"public,omitempty"` // 0 without a public number
	Last     int32  `json:"last,omitempty"`   // the last number of a range
	Source   string `json:"source,omitempty"` // auto or static
	Live     bool   `json:"live"`             // it is on the mux
}

// Backends counts a channel's endpoints.
type Backends struct {
	Ready  int    `json:"ready"`
	Total  int    `json:"total"`
	Slices int    `json:"slices"` // our slices on the mux
	Reason string `json:"reason,omitempty"`
}
