package balancer

import (
	"net/netip"

	"go.uber.org/zap"

	"nowake.ai/svc-lb-mux/balancer/flows"
)

// ResumeFlows returns the function that a gateway calls after it took a seat. It calls flows.Resume.
func ResumeFlows(log *zap.SugaredLogger) func([]netip.Addr) {
	return func(addresses []netip.Addr) {
		resumed, err := flows.Resume(0, addresses)
		if err != nil {
			log.Warnw("TCP connections that another gateway carried meanwhile can't go on", "error", err.Error())
		}
		if resumed > 0 {
			log.Infow("TCP connections that were carried here before may go on", "connections", resumed)
		}
	}
}
