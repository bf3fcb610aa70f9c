package sight

import (
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// Unread says why parts of a mux's world couldn't be read; a text is empty if that part could be read.
type Unread struct {
	Mux      string // the Service of the mux
	Channels string // some of the Services that may be channels
	// Listeners is about the listeners of the Gateway that the mux is made for, or about their routes.
	Listeners string
	Ledger    string // the ConfigMap with the claims
	Sources   string // the EndpointSlices of some channels
	Carried   string // our EndpointSlices on the mux
}

// Any is true if something couldn't be read.
func (u Unread) Any() bool { return u != Unread{} }

// Why returns each reason once.
func (u Unread) Why() []string {
	var all []string
	said := map[string]bool{"": true}
	for _, why := range [...]string{u.Mux, u.Channels, u.Listeners, u.Ledger, u.Sources, u.Carried} {
		if !said[why] {
			said[why] = true
			all = append(all, why)
		}
	}
	return all
}

// Unreadable is the error of a Source without the right to read something. It is a sentence that also says what helps.
type Unreadable string

func (u Unreadable) Error() string { return string(u) }

// Skipped is the error of a Source that wasn't asked to read some objects. The Sight is made without them, and Unread
// doesn't mention them.
type Skipped struct{}

func (Skipped) Error() string { return "it wasn't read" }

// take notes the reason of an Unreadable, and returns any other error.
func take(err error, why *string) error {
	var unreadable Unreadable
	if errors.As(err, &unreadable) {
		*why = string(unreadable)
		return nil
	}
	if errors.As(err, &Skipped{}) {
		return nil
	}
	return err
}

// excessSaid returns what a channel's condition says about endpoints beyond a limit. Only the reconciler counts them.
func excessSaid(keys validation.Keys, c *plan.ObservedChannel) string {
	said := meta.FindStatusCondition(c.Conditions, keys.BackendsReady)
	if said == nil || validation.Reason(said.Reason) != plan.TooManyEndpoints {
		return ""
	}
	return said.Message
}

// backingSaid returns what a channel's condition says about its backends.
func backingSaid(keys validation.Keys, c *plan.ObservedChannel) plan.Backing {
	said := meta.FindStatusCondition(c.Conditions, keys.BackendsReady)
	if said == nil {
		return plan.Unknown
	}
	switch validation.Reason(said.Reason) {
	case plan.HasBackends, plan.TooManyEndpoints:
		return plan.Backed
	case plan.NoBackends:
		return plan.Unbacked
	case plan.FamilyMismatch:
		return plan.OtherFamily
	case plan.BackendsPending:
		return plan.NotCarried
	}
	return plan.Unknown
}
