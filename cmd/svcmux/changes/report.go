package changes

// Schema is the version of the output for programs. Fields may be added; existing fields don't change.
const Schema = "svc-lb-mux/plan/v1"

// Change is what happens to a port.
type Change string

// The changes of ports. A port that doesn't change isn't reported.
const (
	Given     Change = "given"     // it gets a number
	Moved     Change = "moved"     // it gets another number
	Freed     Change = "freed"     // it gives its number back
	Refused   Change = "refused"   // it can't get the number that it asks for
	Withdrawn Change = "withdrawn" // its channel is disabled: the number is off the mux, and held
	Waiting   Change = "waiting"   // its mux is frozen
	Unknown   Change = "unknown"   // the user may not read the mux
)

// Report is the effect of the files.
type Report struct {
	Schema  string         `json:"schema"`
	Summary map[Change]int `json:"summary"` // ports, and Services that aren't admitted as refused
	Denied  []Denied       `json:"denied"`
	Muxes   []Mux          `json:"muxes"` // those that change, sorted
}

// Denied is a Service that the API server or admission refuses.
type Denied struct {
	Service string `json:"service"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Mux is a mux that the files change.
type Mux struct {
	Name     string    `json:"name"`             // namespace/name
	Action   string    `json:"action,omitempty"` // created, changed, or removed; empty if only its channels change
	Settings []Setting `json:"settings,omitempty"`
	Ports    int       `json:"ports"` // on the mux before
	After    int       `json:"portsAfter"`
	Limit    int       `json:"limit"`
	Freeze   string    `json:"freeze,omitempty"` // why the reconciler changes no ports
	Channels []Channel `json:"channels"`
	Unread   []string  `json:"unread,omitempty"`
	Notes    []string  `json:"notes,omitempty"`
}

// Setting is an annotation of a mux that changes.
type Setting struct {
	Key    string `json:"key"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Channel is a channel that changes.
type Channel struct {
	Name    string `json:"name"`
	Reason  string `json:"reason,omitempty"` // why it is refused or waits
	Message string `json:"message,omitempty"`
	Ports   []Port `json:"ports"`
}

// Port is a port that changes.
type Port struct {
	Name     string `json:"name"`
	Protocol string `json:"protocol"`
	Change   Change `json:"change"`
	Before   int32  `json:"before,omitempty"`
	After    int32  `json:"after,omitempty"`
	// Asked is the number that a refused port asks for; absent for auto.
	Asked int32 `json:"asked,omitempty"`
	// BeforeLast, AfterLast and AskedLast are the last numbers of ranges.
	BeforeLast int32  `json:"beforeLast,omitempty"`
	AfterLast  int32  `json:"afterLast,omitempty"`
	AskedLast  int32  `json:"askedLast,omitempty"`
	Source     string `json:"source,omitempty"` // auto or static
	// InSeconds is how long a grace lasts: until the port gets its number, or until the freed number may have another
	// owner.
	InSeconds int64 `json:"inSeconds,omitempty"`
	// AnyNumber is true if the number is unknown, because the user may not read the ledger or the mux.
	AnyNumber bool `json:"anyNumber,omitempty"`
}

// The exit codes of the command, beside 0 for no change and 1 for an error.
const (
	exitChanges  = 2
	exitRefusals = 3
)

// exitCode is 3 if something is refused, else 2 if something changes.
func (r *Report) exitCode() int {
	switch {
	case r.Summary[Refused] > 0:
		return exitRefusals
	case len(r.Muxes) > 0:
		return exitChanges
	}
	return 0
}

// count fills in the summary.
func (r *Report) count() {
	r.Summary = map[Change]int{}
	if len(r.Denied) > 0 {
		r.Summary[Refused] = len(r.Denied)
	}
	for i := range r.Muxes {
		for _, channel := range r.Muxes[i].Channels {
			for _, port := range channel.Ports {
				r.Summary[port.Change]++
			}
		}
	}
}
