package survey

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// Schema is the version of the output for programs. Fields may be added; existing fields don't change.
const Schema = "svc-lb-mux/survey/v1"

// report is the output for programs. Names are NAMESPACE/NAME.
type report struct {
	Schema string `json:"schema"`
	// LoadBalancers are those of today; Proposed are those with the proposed muxes.
	LoadBalancers int           `json:"loadBalancers"`
	Proposed      int           `json:"proposed"`
	Muxes         []reportMux   `json:"muxes"`
	Apart         []reportApart `json:"apart"` // Services that keep their load balancer
	// Channels and ExistingMuxes are Services that use svc-lb-mux already.
	Channels      int      `json:"channels"`
	ExistingMuxes int      `json:"existingMuxes"`
	Notes         []string `json:"notes,omitempty"`
}

type reportMux struct {
	Name     string          `json:"name"`
	Provider string          `json:"provider"`
	Ports    int             `json:"ports"`
	Limit    int             `json:"limit"`
	Services []reportService `json:"services"`
}

type reportService struct {
	Name    string       `json:"name"`
	Channel string       `json:"channel"` // the proposed one
	Ports   []reportPort `json:"ports"`
}

type reportPort struct {
	Name     string          `json:"name"` // of the channel's port
	Protocol corev1.Protocol `json:"protocol"`
	Port     int32           `json:"port"`
	Number   int32           `json:"number"` // on the mux
	// KeptBy is the Service that keeps the number of today; absent if this port keeps it.
	KeptBy string `json:"keptBy,omitempty"`
}

type reportApart struct {
	Service string `json:"service"`
	Why     string `json:"why"`
}

// data returns the result for programs.
func (r *Result) data() report {
	out := report{
		Schema: Schema, LoadBalancers: r.Before, Proposed: r.After, Muxes: []reportMux{}, Apart: []reportApart{},
		Channels: r.Channels, ExistingMuxes: r.OldMuxes, Notes: r.notes(),
	}
	for i := range r.Muxes {
		m := &r.Muxes[i]
		mux := reportMux{m.Key.String(), cmp.Or(m.Provider.Key, "other"), m.Ports(), m.Limit, []reportService{}}
		for _, member := range m.Members {
			service := reportService{keyOf(member.From).String(), keyOf(member.Channel).String(), []reportPort{}}
			for _, p := range member.Ports {
				service.Ports = append(service.Ports,
					reportPort{p.ServicePort.Name, slotOf(p.ServicePort, 0).protocol, p.Port.Port, p.Number, p.TakenBy})
			}
			mux.Services = append(mux.Services, service)
		}
		out.Muxes = append(out.Muxes, mux)
	}
	for _, a := range r.Apart {
		out.Apart = append(out.Apart, reportApart{a.Service.String(), cli.Sentence(a.Why)})
	}
	return out
}
