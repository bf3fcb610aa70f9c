package table_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/balancer/table"
	"nowake.ai/svc-lb-mux/balancer/want"
	"nowake.ai/svc-lb-mux/test/nettest"
)

const ports = 10000

// manyPorts are 10,000 ports with three backends each.
func manyPorts(target uint16) *want.Tables {
	a := families()["IPv4"]
	tables := &want.Tables{Addresses: []want.Address{a.carried(a.own)}}
	for i := range uint16(ports) {
		tables.Services = append(tables.Services, a.service(10000+i, 10000+i, target))
	}
	return tables
}

func apply(b *testing.B, kernel *table.Kernel, tables *want.Tables) {
	b.Helper()
	if _, err := kernel.Apply(tables); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkPortsFromNothing(b *testing.B) {
	n, tables := nettest.New(b), manyPorts(8080)
	kernel := table.Open(n.FD)
	for b.Loop() {
		b.StopTimer()
		if err := kernel.Remove(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		apply(b, kernel, tables)
	}
}

// BenchmarkPortsFromNothingByNft is the baseline: nft loads the same elements of one map, written as text.
func BenchmarkPortsFromNothingByNft(b *testing.B) {
	n, backends := nettest.New(b), families()["IPv4"].backends
	var text strings.Builder
	text.WriteString("table ip plain\ndelete table ip plain\ntable ip plain { map slots { type ipv4_addr . inet_proto . " +
		"inet_service . mark : ipv4_addr . inet_service; elements = {\n")
	for i := range ports {
		for slot, backend := range backends {
			fmt.Fprintf(&text, "192.0.2.10 . tcp . %d . %d : %s . 8080,\n", 10000+i, slot, backend)
		}
	}
	text.WriteString("}; }; }\n")
	file := filepath.Join(b.TempDir(), "plain.nft")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		n.Run("nft", "-f", file)
	}
}

func BenchmarkPortsAllReplaced(b *testing.B) {
	kernel := table.Open(nettest.New(b).FD)
	tables := [2]*want.Tables{manyPorts(8080), manyPorts(8081)}
	apply(b, kernel, tables[1])
	for i := 0; b.Loop(); i++ {
		apply(b, kernel, tables[i%2])
	}
}

func BenchmarkRestartWithPorts(b *testing.B) {
	n, tables := nettest.New(b), manyPorts(8080)
	apply(b, table.Open(n.FD), tables)
	for b.Loop() {
		apply(b, table.Open(n.FD), tables)
	}
}

// BenchmarkOnePortAmongMany changes a backend of one of 10,000 ports.
func BenchmarkOnePortAmongMany(b *testing.B) { onePort(b, manyPorts(8080)) }

func BenchmarkOnePortAlone(b *testing.B) {
	tables := manyPorts(8080)
	tables.Services = tables.Services[:1]
	onePort(b, tables)
}

func onePort(b *testing.B, tables *want.Tables) {
	kernel := table.Open(nettest.New(b).FD)
	apply(b, kernel, tables)
	for i := 0; b.Loop(); i++ {
		tables.Services[0].Slots[0].Port = uint16(9000 + i%2)
		apply(b, kernel, tables)
	}
}

func BenchmarkOneRange(b *testing.B) {
	a := families()["IPv4"]
	kernel := table.Open(nettest.New(b).FD)
	open := &want.Tables{Addresses: []want.Address{a.carried(netip.Addr{})}}
	ranged := *open
	ranged.Services = []want.Service{a.service(10000, 19999, 30000)}
	apply(b, kernel, open)
	for b.Loop() {
		apply(b, kernel, &ranged)
		b.StopTimer()
		apply(b, kernel, open)
		b.StartTimer()
	}
}
