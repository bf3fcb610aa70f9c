package balancer

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/lease"
)

// The reasons that the agent itself gives.
const (
	KernelRefused   = "KernelRefused"   // the kernel refused a part of a mux
	TablesFailed    = "TablesFailed"    // the kernel's tables can't be brought up to date
	ClaimsUnusable  = "ClaimsUnusable"  // the ConfigMap of claims can't be read
	NewsMissing     = "NewsMissing"     // the API server didn't tell enough to decide
	SettingUnusable = "SettingUnusable" // a sysctl must be changed
	// ForwardingBlocked is a firewall that drops forwarded packets.
	ForwardingBlocked = "ForwardingBlocked"
	// ConnectionsFull is a table of connections without much room.
	ConnectionsFull = "ConnectionsFull"
)

// report passes on what this gateway does, if that changed.
func (a *Agent) report() {
	r := a.makeReport()
	a.Metrics.note(r)
	if a.Report == nil || reflect.DeepEqual(r, a.told) {
		return
	}
	a.told = r
	a.Report(r)
}

func (a *Agent) makeReport() *lease.Report {
	status := a.Seats.Status()
	r := &lease.Report{Claims: a.news.ClaimsVersion, Holds: status.Holds, Faults: slices.Clone(a.faults)}
	if a.Prober != nil {
		r.Probes = a.Prober.Results()
	}
	if a.seatSet && len(a.decision.Unread) == 0 {
		r.Adverts = status.Adverts
	}
	fault := func(reason, message string) {
		r.Faults = append(r.Faults, lease.Refusal{Reason: reason, Message: message})
	}
	if a.failure != "" {
		fault(TablesFailed, a.failure)
	}
	if a.news.ClaimsFault != "" {
		fault(ClaimsUnusable, a.news.ClaimsFault)
	}
	for _, unread := range a.decision.Unread {
		fault(NewsMissing, unread)
	}
	for _, f := range status.Faults {
		fault(f.Reason, f.Message)
	}
	muxes := map[types.NamespacedName]*lease.Mux{}
	a.reportProgrammed(muxes)
	a.reportRefusals(muxes)
	for _, key := range slices.SortedFunc(maps.Keys(muxes),
		func(x, y types.NamespacedName) int { return cmp.Compare(x.String(), y.String()) }) {
		if muxes[key].UID != "" {
			r.Muxes = append(r.Muxes, *muxes[key])
		}
	}
	slices.SortFunc(r.Muxes, func(x, y lease.Mux) int { return cmp.Compare(x.UID, y.UID) })
	return r
}

// reportProgrammed adds the addresses whose ports are in the kernel. An address with a refused part isn't among them.
func (a *Agent) reportProgrammed(muxes map[types.NamespacedName]*lease.Mux) {
	if a.applied == nil || a.failure != "" {
		return
	}
	for _, address := range a.applied.Addresses {
		m := a.reported(muxes, address.Mux)
		isRefused := slices.ContainsFunc(slices.Collect(maps.Keys(a.refused)), func(u unit) bool {
			return u.address == address.Address
		})
		if !isRefused {
			m.Programmed = append(m.Programmed, address.Address)
		}
	}
}

func (a *Agent) reportRefusals(muxes map[types.NamespacedName]*lease.Mux) {
	for _, r := range a.decision.Refusals {
		m := a.reported(muxes, r.Mux)
		m.Refused = append(m.Refused, lease.Refusal{Port: r.Port, Reason: string(r.Reason), Message: r.Message})
	}
	for _, u := range slices.SortedFunc(maps.Keys(a.refused), compareUnits) {
		r := a.refused[u]
		m := a.reported(muxes, r.mux)
		port := ""
		if u.protocol != "" {
			port = cmp.Or(portName(a.mux(r.mux), u.protocol, u.first), fmt.Sprintf("%d/%s", u.first, u.protocol))
		}
		m.Refused = append(m.Refused, lease.Refusal{Port: port, Reason: KernelRefused, Message: r.text(u)})
	}
}

// reported returns the part of a report about a mux, and adds it if it is missing.
func (a *Agent) reported(muxes map[types.NamespacedName]*lease.Mux, key types.NamespacedName) *lease.Mux {
	if muxes[key] == nil {
		muxes[key] = &lease.Mux{UID: a.uidOf(key)}
	}
	return muxes[key]
}

// uidOf returns the UID of a mux from the list, or else from its claim.
func (a *Agent) uidOf(key types.NamespacedName) types.UID {
	if svc := a.mux(key); svc != nil {
		return svc.UID
	}
	if a.news.Claims != nil {
		if claim, found := a.news.Claims.Find(key); found {
			return claim.UID
		}
	}
	return ""
}

func (a *Agent) mux(key types.NamespacedName) *corev1.Service {
	at := slices.IndexFunc(a.news.Muxes.Items, func(s *corev1.Service) bool {
		return s.Namespace == key.Namespace && s.Name == key.Name
	})
	if at < 0 {
		return nil
	}
	return a.news.Muxes.Items[at]
}
