package reconciler

import (
	"fmt"
	"os"
	"testing"

	"nowake.ai/svc-lb-mux/test/bench/figure"
)

// BenchmarkTenThousand runs 10,000 channels on four muxes.
func BenchmarkTenThousand(b *testing.B) {
	for b.Loop() {
		w := start(b)
		w.run(b)
		var all []string
		for m := range 4 {
			mux := fmt.Sprintf("mux-%d", m)
			w.mux(b, mux)
			some := names(fmt.Sprintf("app-%d", m), 2500)
			w.sources(b, some)
			w.channels(b, mux, some)
			all = append(all, some...)
			w.eyes.await(b, "the channels of "+mux, func(e *eyes) bool {
				for _, name := range some {
					if len(e.service("app/"+name).Status.LoadBalancer.Ingress) == 0 {
						return false
					}
				}
				return e.onMux >= len(all)
			})
		}
		resident := w.usage(b).resident
		figure.AtMost(os.Stdout, "reconciler/memory-at-10000", resident, "MiB", 300)
		b.Logf("%.1f KiB a channel, all of the process's counted", resident*1024/float64(len(all)))
	}
}
