package agent

import (
	"log/slog"
	"net/netip"

	"nowake.ai/svc-lb-mux/gateway/agent/flows"
)

// ResumeFlows returns what a gateway does after it took a seat: see flows.Resume.
func ResumeFlows(log *slog.Logger) func([]netip.Addr) {
	return func(addresses []netip.Addr) {
		resumed, err := flows.Resume(0, addresses)
		if err != nil {
			log.Warn("TCP connections that another gateway carried meanwhile can't go on", "error", err.Error())
		}
		if resumed > 0 {
			log.Info("TCP connections that were carried here before may go on", "connections", resumed)
		}
	}
}
