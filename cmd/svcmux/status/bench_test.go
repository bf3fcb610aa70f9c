package status

import (
	"os"
	"testing"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
)

// BenchmarkStatus decides and prints for 10,000 channels that were read.
func BenchmarkStatus(b *testing.B) {
	world := looktest.Large(b, 10_000).World()
	world.Unread.NoSlices = true
	env := cli.Env{Out: os.Stdout, Now: looktest.Now, Getenv: func(string) string { return "" }}
	var o options
	b.ReportAllocs()
	for b.Loop() {
		list, err := o.list(world, look.Ask{Language: world.Language}, env)
		if err != nil || len(list.Rows) != 1 || list.Rows[0].Cells[3] != "10000/20000" {
			b.Fatalf("%v, %+v", err, list)
		}
	}
}
