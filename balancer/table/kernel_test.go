package table_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/balancer/table"
	"nowake.ai/svc-lb-mux/balancer/want"
)

// everything has each kind of element and chain, in both families.
func everything() *want.Tables {
	var tables want.Tables
	for _, name := range []string{"IPv4", "IPv6"} {
		a := families()[name]
		other := want.Address{Address: a.other, Mux: a.key(), Source: a.own}
		tables.Addresses = append(tables.Addresses, a.carried(a.mux), other)
		sticky, filtered, several := a.service(81, 81, 8080), a.service(82, 82, 8080), a.service(20000, 29999, 5000)
		sticky.Sticky, filtered.Sources = true, append(filtered.Sources, a.nearby, a.far)
		restricted := a.service(30000, 30100, 5000) // by networks that touch each other, and the ends of all addresses
		restricted.Sources = a.edges
		bare := a.service(83, 83, 1)
		bare.Slots = nil
		tables.Services = append(tables.Services, a.service(80, 80, 8080), sticky, filtered, bare, several, restricted)
	}
	return &tables
}

// nft of Debian 12 aborts on some rules that the kernel takes: then no admin can look at any rule of the machine.
func TestNftCanListTheRuleset(t *testing.T) {
	w := newWorld(t)
	w.apply(t, everything())
	listed := w.gateway.Run("nft", "list", "ruleset")
	for _, part := range []string{"table ip svc-lb-mux", "table ip6 svc-lb-mux",
		"c0:00:02:0a:06:00:00:00:4e:20:00:00-c0:00:02:0a:06:00:00:00:75:2f:00:00", // 192.0.2.10, TCP, 20000 to 29999
		"2001:db8::10 . tcp . 80 counter packets 0 bytes 0 : goto n3", "goto n3-sticky", "goto n3-from", "goto r3",
		"goto r3-from", "192.0.2.11 : 10.9.2.1", "jhash ip6 saddr . th sport mod 3"} {
		if !strings.Contains(listed, part) {
			t.Errorf("no %q in\n%s", part, listed)
		}
	}
}

func TestARestartWritesOnlyTheDifference(t *testing.T) {
	w := newWorld(t)
	tables := everything()
	w.apply(t, tables)
	for restart, kernel := range map[string]*table.Kernel{"in one process": w.kernel,
		"after a restart": table.Open(w.gateway.FD)} {
		if done, err := kernel.Apply(tables); err != nil || done != (table.Applied{}) {
			t.Errorf("%s: wrote %+v, %v", restart, done, err)
		}
	}
	tables.Services[0].Slots[0].Port = 4000
	// The slot is replaced, and the port from which replies now come is added.
	if done, err := table.Open(w.gateway.FD).Apply(tables); err != nil || done.Rebuilt || done.Added != 2 ||
		done.Removed != 1 {
		t.Errorf("one backend changed: wrote %+v, %v", done, err)
	}
}

func TestWhatOthersRemoveIsRestored(t *testing.T) {
	for _, mischief := range []string{"flush ruleset", "delete table ip6 svc-lb-mux", "flush chain ip svc-lb-mux guard",
		"insert rule ip svc-lb-mux dispatch accept", "add chain ip svc-lb-mux stranger", "flush chain ip svc-lb-mux n3"} {
		t.Run(mischief, func(t *testing.T) {
			w := newWorld(t)
			w.apply(t, everything())
			before := w.listed()
			if intact, err := w.kernel.Intact(); err != nil || !intact {
				t.Fatalf("untouched tables: intact is %v, %v", intact, err)
			}
			w.gateway.Run("nft", mischief)
			if intact, err := w.kernel.Intact(); err != nil || intact {
				t.Errorf("intact is %v, %v", intact, err)
			}
			w.apply(t, everything())
			if after := w.listed(); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

// listed lists our tables without counters, because background traffic counts. The kernel lists tables by age.
func (w *world) listed() string {
	return w.gateway.Run("sh", "-c", "for f in ip ip6; do nft --stateless list table $f svc-lb-mux; done; nft list "+
		"tables | sort")
}

// An element that others removed is found by the next Apply that reads the kernel.
func TestRemovedElementsComeBackAfterForget(t *testing.T) {
	w := newWorld(t)
	w.apply(t, everything())
	w.gateway.Run("nft", "flush map ip svc-lb-mux slots; flush set ip6 svc-lb-mux addresses")
	w.kernel.Forget()
	if done := w.apply(t, everything()); done.Rebuilt || done.Added != 9+2 || done.Removed != 0 {
		t.Errorf("got %+v", done)
	}
}

func TestARefusedTransactionChangesNothing(t *testing.T) {
	w := newWorld(t)
	good := everything()
	w.apply(t, good)
	before := w.listed()
	bad := everything()
	a := families()["IPv6"]
	// the last one overlaps
	bad.Services = append(bad.Services, a.service(100, 100, 1), a.service(29999, 29999, 1), a.service(29000, 30000, 1))
	if done, err := w.kernel.Apply(bad); !errors.Is(err, table.ErrRefused) {
		t.Fatalf("got %+v, %v", done, err)
	}
	if after := w.listed(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if done := w.apply(t, good); done != (table.Applied{}) {
		t.Errorf("afterwards, it wrote %+v", done)
	}
}

func TestForeignTablesStayUntouched(t *testing.T) {
	w := newWorld(t)
	w.gateway.Run("nft", "table ip foreign { set s { type ipv4_addr; elements = { 192.0.2.10 }; }; chain n3 { drop; }; }")
	before := w.gateway.Run("nft", "list", "ruleset")
	w.apply(t, everything())
	if err := w.kernel.Remove(); err != nil {
		t.Fatal(err)
	}
	if after := w.gateway.Run("nft", "list", "ruleset"); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if err := w.kernel.Remove(); err != nil {
		t.Errorf("removing nothing: %v", err)
	}
}

func TestServicesThatGoAreClosed(t *testing.T) {
	w := newWorld(t)
	w.backends.Serve(8080)
	a := families()["IPv4"]
	tables := &want.Tables{Addresses: []want.Address{a.carried(a.own)},
		Services: []want.Service{a.service(80, 80, 8080), a.service(81, 81, 8080)}}
	w.apply(t, tables)
	tables.Services[1].Slots = tables.Services[1].Slots[:1]
	tables.Services = slices.Delete(tables.Services, 0, 1)
	w.apply(t, tables)
	if _, _, err := w.client.Ask(a.mux, 80); !isRefused(err) {
		t.Errorf("port 80 went, and answers: %v", err)
	}
	for range 10 {
		if server, _, err := w.client.Ask(a.mux, 81); server != "10.9.2.11:8080" {
			t.Errorf("port 81 has one backend, and %q answers: %v", server, err)
		}
	}
}

// If a removed address kept its element, our guard would go on dropping packets to it, even once the address is used
// elsewhere.
func TestARemovedMuxAddressLeavesTheKernel(t *testing.T) {
	w := newWorld(t)
	w.apply(t, everything())
	less := everything()
	for i := range less.Addresses {
		less.Addresses[i].Source = less.Addresses[i].Address
	}
	w.apply(t, less)
	less.Addresses = slices.DeleteFunc(less.Addresses, func(a want.Address) bool {
		return a.Address == families()["IPv4"].other
	})
	for _, restart := range []bool{false, true} {
		kernel := w.kernel
		if restart {
			kernel = table.Open(w.gateway.FD)
		}
		if _, err := kernel.Apply(less); err != nil {
			t.Fatal(err)
		}
		for set, kind := range map[string]string{"addresses": "set", "sources-seen": "map"} {
			listed := w.gateway.Run("nft", "list", kind, "ip", "svc-lb-mux", set)
			if strings.Contains(listed, "192.0.2.11") || !strings.Contains(listed, "192.0.2.10") {
				t.Errorf("after a restart: %t\n%s", restart, listed)
			}
		}
		if _, err := kernel.Apply(everything()); err != nil {
			t.Fatal(err)
		}
	}
}
