package view

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
	"nowake.ai/svc-lb-mux/validation"
)

// States of a channel.
const (
	channelProgrammed = "programmed"
	channelUnbacked   = "unbacked"
	channelPending    = "pending"
	channelKeeps      = "keeps"
	channelDisabled   = "disabled"
	channelWaiting    = "waiting"
	channelLeaving    = "leaving"
	channelRefused    = "refused"
	channelUnknown    = "unknown" // a listener that this process doesn't know
)

// portsByName are the numbers of a mux's ports and ranges by name.
type portsByName map[string]plan.Span

func liveNames(mux *plan.ObservedMux) portsByName {
	if mux == nil {
		return nil
	}
	return mux.Spans()
}

func (n portsByName) has(port *plan.PortVerdict) bool {
	return port.Public != 0 && n[port.MuxName] == port.Span()
}

func channelOf(s *sight.Sight, verdict *plan.Verdict, observed *plan.ObservedChannel, live portsByName) Channel {
	channel := Channel{
		Namespace: verdict.Channel.Namespace, Name: verdict.Channel.Name, Accepted: verdict.Accepted,
		Reason: string(verdict.Reason), Message: verdict.Message, Ports: make([]Port, 0, len(verdict.Ports)),
		Backends: backendsOf(s, observed),
	}
	if observed != nil {
		channel.Created, channel.Hostnames = observed.Created.UTC(), observed.Hostnames
	}
	has := 0
	for i := range verdict.Ports {
		port := portOf(&verdict.Ports[i], live)
		if observed != nil && i < len(observed.Ports) {
			port.Request = observed.Ports[i].Request.String()
		}
		if port.Public != 0 &&
			(port.Live || verdict.Reason != validation.SourceRangesNotSupported && verdict.Reason != plan.SourceRangesExceeded) {
			has++
		}
		channel.Ports = append(channel.Ports, port)
	}
	channel.State = channelState(verdict, observed, has > 0)
	return channel
}

func portOf(verdict *plan.PortVerdict, live portsByName) Port {
	port := Port{
		Name: verdict.Name, Protocol: string(verdict.Protocol), Port: verdict.Port, Public: verdict.Public,
		Last: verdict.Last,
		Live: live.has(verdict),
	}
	if verdict.Public != 0 {
		port.Source = verdict.Source.String()
	}
	return port
}

func channelState(verdict *plan.Verdict, observed *plan.ObservedChannel, has bool) string {
	switch {
	case observed != nil && observed.Deleting:
		return channelLeaving
	case verdict.Reason == plan.Disabled:
		return channelDisabled
	case verdict.Reason == plan.Waiting && !verdict.Accepted && !verdict.Programmed:
		return channelWaiting
	case !verdict.Accepted && has:
		return channelKeeps
	case !verdict.Accepted:
		return channelRefused
	case !verdict.Programmed:
		return channelPending
	case observed != nil && observed.Backends != plan.Backed && observed.Backends != plan.Unknown:
		return channelUnbacked
	}
	return channelProgrammed
}

// backendsOf counts a channel's backends: those carried on the mux or, while none is, those of its own EndpointSlices.
func backendsOf(s *sight.Sight, observed *plan.ObservedChannel) Backends {
	if observed == nil {
		return Backends{}
	}
	carried := s.Carried[observed.Key]
	count := countEndpoints(carried)
	if len(carried) == 0 {
		count = countEndpoints(s.Sources[observed.Key])
	}
	count.Slices = len(carried)
	switch observed.Backends {
	case plan.OtherFamily:
		count.Reason = string(plan.FamilyMismatch)
	case plan.Unbacked:
		count.Reason = string(plan.NoBackends)
	case plan.Backed, plan.Unknown:
	}
	return count
}

func countEndpoints(list []*discoveryv1.EndpointSlice) Backends {
	var count Backends
	for _, slice := range list {
		for i := range slice.Endpoints {
			count.Total++
			if isReady(&slice.Endpoints[i]) {
				count.Ready++
			}
		}
	}
	return count
}

// isReady treats an unset condition as ready, as Kubernetes asks consumers to do.
func isReady(e *discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }

// Span returns the public numbers of a port.
func (p *Port) Span() plan.Span { return plan.NewSpan(p.Public, p.Last, corev1.Protocol(p.Protocol)) }

// IsRefused is true for a channel that is refused, or whose edit is refused.
func (c *Channel) IsRefused() bool { return c.State == channelRefused || c.State == channelKeeps }
