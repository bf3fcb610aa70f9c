package gateways

import (
	"os"
	"slices"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/balancer/table"
	"nowake.ai/svc-lb-mux/test/bench/figure"
)

const (
	turns = 7
	span  = time.Second
)

// BenchmarkNewConnections opens connections by turns through one DNAT rule, through our tables of 10,000 ports, and
// through kube-proxy's rules for as many ports. A figure is the time for a connection, including the client's and the
// server's own time.
func BenchmarkNewConnections(b *testing.B) {
	for b.Loop() {
		plain, gateway, proxy := newRoad(b), newRoad(b), newRoad(b)
		plain.load(b, plainRule())
		gateway.apply(b, table.Open(gateway.gateway.FD), ours(target))
		proxy.load(b, kubeProxyRules(b))
		var times [3][]time.Duration
		for range turns {
			for i, road := range []*road{plain, gateway, proxy} {
				times[i] = append(times[i], road.perConnection(b, span))
			}
		}
		floor, our, theirs := median(times[0]), median(times[1]), median(times[2])
		figure.Against(os.Stdout, "gateways/new-connection", microseconds(our), "us", microseconds(floor), 1.11)
		figure.Against(os.Stdout, "gateways/new-connection-over-kube-proxy", microseconds(our), "us", microseconds(theirs), 1)
		baseline("gateways/new-connection-by-one-rule", microseconds(floor), "us")
		baseline("gateways/new-connection-by-kube-proxy", microseconds(theirs), "us")
	}
}

// BenchmarkBackendsChange changes backends by turns: of one port and of all 10,000 ports in our tables, and of all
// ports in a file with a rule for each port. In the file, a change of one port costs as much, because nft loads the
// whole file.
func BenchmarkBackendsChange(b *testing.B) {
	for b.Loop() {
		gateway, file := newRoad(b), newRoad(b)
		kernel, now := table.Open(gateway.gateway.FD), ours(target)
		gateway.apply(b, kernel, now)
		var one, all, whole []time.Duration
		for turn := range turns {
			for n := range 20 {
				now.Services[n].Slots[0].Port = uint16(9000 + turn)
				one = append(one, timed(func() { gateway.apply(b, kernel, now) }))
			}
			now = ours(uint16(7000 + turn))
			all = append(all, timed(func() { gateway.apply(b, kernel, now) }))
			if turn < 2 { // loading the file takes very long
				whole = append(whole, timed(func() { file.load(b, rulePerPort(7000+turn)) }))
			}
		}
		figure.AtMost(os.Stdout, "gateways/one-port-changes", milliseconds(median(one)), "ms", 1)
		figure.AtMost(os.Stdout, "gateways/all-ports-change", milliseconds(median(all)), "ms", 250)
		baseline("gateways/a-rule-for-each-port", milliseconds(median(whole)), "ms")
	}
}

// baseline prints the figure of another way to carry connections.
func baseline(name string, value float64, unit string) {
	figure.Against(os.Stdout, name, value, unit, value, 1)
}

func timed(run func()) time.Duration {
	start := time.Now()
	run()
	return time.Since(start)
}

func median(all []time.Duration) time.Duration { return slices.Sorted(slices.Values(all))[len(all)/2] }

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
