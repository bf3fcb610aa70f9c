package guard

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Fault is one fault of admission or of its certificate.
type Fault struct {
	Reason Reason
	// Object is the object with the fault, such as "Certificate svc-mux-webhook".
	Object string
	// Message names the object, the fault and the way out.
	Message string
}

// Status is the result of a check. The console may print it unchanged.
type Status struct {
	// Known is false until the first check.
	Known bool
	// OnGuard is true if API servers reach the webhook and trust it.
	OnGuard bool
	// Faults are in the order of Reasons.
	Faults []Fault
	// NotAfter is when the served certificate expires; zero if none was seen.
	NotAfter time.Time
}

// Ready returns nil if there is no fault, or only ExpiresSoon. Otherwise the error has one line for each fault: line
// breaks in cert-manager's messages become spaces.
func (s Status) Ready() error {
	if !s.Known {
		return errors.New("admission: not checked yet")
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

// statusOf sorts the faults by reason and drops duplicates.
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
