package dataplane

import (
	"fmt"
	"os"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/test/bench/figure"
)

const (
	channels = 1000
	pods     = 100 // each pod serves ten channels
)

// BenchmarkThousandChannels creates a thousand channels for a hundred pods. It sends requests to each channel at the
// mux's address, from outside of the cluster, until the channel's own pod answers. It prints the progress every tenth
// of a second.
func BenchmarkThousandChannels(b *testing.B) {
	for b.Loop() {
		w := start(b)
		w.crowd(b)
		w.mux(b)
		begin := time.Now()
		asked := w.askAll(b, begin)
		w.create(b)
		created := time.Since(begin)
		asked.wait(b)
		answered := time.Since(begin)
		for _, p := range asked.points {
			fmt.Fprintf(os.Stdout, "\npoint dataplane/thousand %d created=%d programmed=%d answered=%d", p.at.Milliseconds(),
				p.created, p.programmed, p.answered)
		}
		fmt.Fprintf(os.Stdout, "\nok=%d missing=%d failed=%d\n", asked.ok, channels-asked.ok-asked.failed, asked.failed)
		figure.Against(os.Stdout, "dataplane/thousand-answered", milliseconds(answered), "ms", milliseconds(created), 1.5)
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
