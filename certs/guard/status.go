package guard

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Fault is one thing that is amiss.
type Fault struct {
	Reason Reason
	// Object is what it is about, such as "Certificate svc-mux-webhook".
	Object string
	// Message is a sentence that names the object and the way out.
	Message string
}

// Status is what is known of admission. The console may print it as it is.
type Status struct {
	// Known is false until the first look.
	Known bool
	// OnGuard is true if the API server gets through to the webhook.
	OnGuard bool
	// Faults are in the order of Reasons.
	Faults []Fault
	// NotAfter is when the certificate that is served expires; zero if none was seen.
	NotAfter time.Time
}

// Ready is nil if nothing is amiss but what has time. It names everything else, a line each, also where cert-manager uses
// several.
func (s Status) Ready() error {
	if !s.Known {
		return errors.New("admission: not looked at yet")
	}
	var lines []string
	for _, fault := range s.Faults {
		if fault.Reason != ExpiresSoon {
			message := strings.ReplaceAll(fault.Message, "\n", " ")
			lines = append(lines, fmt.Sprintf("admission: %s: %s", fault.Reason, message))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return errors.New(strings.Join(lines, "\n"))
}

// statusOf puts faults in order, and drops what is said twice.
func statusOf(faults []Fault, notAfter time.Time) Status {
	order := Reasons()
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return slices.Index(order, a.Reason) - slices.Index(order, b.Reason)
	})
	return Status{
		Known: true, Faults: slices.Compact(faults), NotAfter: notAfter,
		OnGuard: !slices.ContainsFunc(faults, func(f Fault) bool { return f.Reason.offGuard() }),
	}
}
