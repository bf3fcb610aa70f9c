package gateways

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/table"
	"nowake.ai/svc-lb-mux/balancer/want"
)

// load has nft read rules from a file.
func (r *road) load(b *testing.B, rules string) {
	b.Helper()
	file := filepath.Join(b.TempDir(), "rules.nft")
	must(b, os.WriteFile(file, []byte(rules), 0o600))
	r.gateway.Run("nft", "-f", file)
}

// plainRule sends all ports to one backend by one rule.
func plainRule() string {
	return fmt.Sprintf(`table ip plain {
	chain in { type nat hook prerouting priority dstnat; ip daddr %s tcp dport %d-%d dnat to %s:%d; }
	chain out { type nat hook postrouting priority srcnat; oifname "back" masquerade; }
}
`, address(), first, first+services-1, backends()[0], target)
}

// rulePerPort are the rules that ch-k8s-lbaas writes, one for each port.
func rulePerPort(to int) string {
	var rules strings.Builder
	rules.WriteString("table ip lbaas\ndelete table ip lbaas\ntable ip lbaas {\n\tchain out { type nat hook postrouting " +
		"priority srcnat; oifname \"back\" masquerade; }\n\tchain in { type nat hook prerouting priority dstnat;\n")
	for i := range services {
		fmt.Fprintf(&rules, "ip daddr %s tcp dport %d dnat to numgen inc mod 3 map { 0 : %s, 1 : %s, 2 : %s } : %d;\n",
			address(), first+i, backends()[0], backends()[1], backends()[2], to)
	}
	rules.WriteString("\t}\n}\n")
	return rules.String()
}

// ours returns our tables for 10,000 ports, each with three backends.
func ours(to uint16) *want.Tables {
	mux := types.NamespacedName{Namespace: "edge", Name: "mux"}
	tables := &want.Tables{Addresses: []want.Address{{Address: address(), Mux: mux, Source: source()}}}
	for i := range uint16(services) {
		s := want.Service{Address: address(), Mux: mux, Protocol: corev1.ProtocolTCP, First: first + i, Last: first + i}
		for _, backend := range backends() {
			s.Slots = append(s.Slots, want.Backend{Address: backend, Port: to})
		}
		tables.Services = append(tables.Services, s)
	}
	return tables
}

func (r *road) apply(b *testing.B, kernel *table.Kernel, tables *want.Tables) {
	b.Helper()
	_, err := kernel.Apply(tables)
	must(b, err)
}
