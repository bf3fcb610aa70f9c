package balancer

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nowake.ai/svc-lb-mux/balancer/announce"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/balancer/want"
)

// lowestConntrack is how many connections a gateway must be able to track. Kernels with little memory set less by
// default.
const lowestConntrack = 65536

// Machine checks the settings of this machine.
type Machine struct {
	// Proc is where /proc is.
	Proc       string
	Interface  string
	ReturnPath want.ReturnPath
	Addresses  func() []netip.Addr
	// Blocked returns the chains that drop forwarded packets; nil in tests without a kernel.
	Blocked func() ([]BlockedChain, error)
	// isFull is true while the table of connections is nearly full.
	isFull bool
}

// Check returns what must be set. It changes nothing on the machine.
func (m *Machine) Check() []lease.Refusal {
	var faults []lease.Refusal
	wrong := func(format string, values ...any) {
		faults = append(faults, lease.Refusal{Reason: SettingUnusable, Message: fmt.Sprintf(format, values...)})
	}
	hasSix := slices.ContainsFunc(m.Addresses(), func(a netip.Addr) bool {
		return a.Is6() && !a.IsLinkLocalUnicast() && !a.IsLoopback()
	})
	if m.sysctl("net.ipv4.ip_forward") == 0 {
		wrong("net.ipv4.ip_forward is 0: no packet reaches a backend: set it to 1")
	}
	if hasSix && m.sysctl("net.ipv6.conf.all.forwarding") == 0 {
		wrong("net.ipv6.conf.all.forwarding is 0: no IPv6 packet reaches a backend: set it to 1")
	}
	for _, name := range []string{"all", m.Interface} {
		if m.ReturnPath != want.ViaNode && m.sysctl("net/ipv4/conf/"+name+"/rp_filter") == 1 {
			wrong("rp_filter of %s is 1: replies that come over another interface are dropped: set net.ipv4.conf.%s.rp_filter "+
				"to 2", name, name)
		}
	}
	if most := m.sysctl("net.netfilter.nf_conntrack_max"); most > 0 && most < lowestConntrack {
		wrong("net.netfilter.nf_conntrack_max is %d: more connections than that are refused: set it to %d or more", most,
			lowestConntrack)
	}
	return slices.Concat(faults, m.checkConnections(), m.checkForwarding(hasSix))
}

// checkConnections reports a table of connections that is nearly full. The message has no count, so that it stays the
// same. The fault ends once a fifth of the table is free.
func (m *Machine) checkConnections() []lease.Refusal {
	most, tracked := m.sysctl("net.netfilter.nf_conntrack_max"), m.sysctl("net.netfilter.nf_conntrack_count")
	if most <= 0 || tracked < 0 {
		return nil
	}
	m.isFull = tracked >= most/10*9 || m.isFull && tracked >= most/10*8
	if !m.isFull {
		return nil
	}
	return []lease.Refusal{{Reason: ConnectionsFull, Message: fmt.Sprintf("the table of connections is nearly full "+
		"(net.netfilter.nf_conntrack_max is %d): once it is full, the kernel drops new connections of every mux and of the "+
		"machine: see who opens them (conntrack -L), or set a higher value", most)}}
}

// checkForwarding reports chains of other programs that drop forwarded packets.
func (m *Machine) checkForwarding(hasSix bool) []lease.Refusal {
	if m.Blocked == nil {
		return nil
	}
	blocked, err := m.Blocked()
	if err != nil {
		return []lease.Refusal{{Reason: ForwardingBlocked, Message: err.Error()}}
	}
	var faults []lease.Refusal
	for i := range blocked {
		b := &blocked[i]
		if b.isSix() && !hasSix {
			continue
		}
		faults = append(faults, lease.Refusal{Reason: ForwardingBlocked, Message: fmt.Sprintf("chain %s of table %s %s may "+
			"drop what muxes forward to backends: run \"%s\" at each start of this machine", b.Chain, familyName(b.Family),
			b.Table, b.remedy())})
	}
	return faults
}

// sysctl returns a setting. It is -1 if the kernel doesn't have it.
func (m *Machine) sysctl(name string) int {
	if !strings.Contains(name, "/") {
		name = strings.ReplaceAll(name, ".", "/")
	}
	text, err := os.ReadFile(filepath.Join(m.Proc, "sys", name))
	if err != nil {
		return -1
	}
	value, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return -1
	}
	return value
}

// CheckRights returns an error that names the missing capabilities.
func (m *Machine) CheckRights() error {
	text, err := os.ReadFile(filepath.Join(m.Proc, "self/status"))
	if err != nil {
		return fmt.Errorf("read this process's capabilities: %w", err)
	}
	var effective uint64
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "CapEff:"); found {
			effective, err = strconv.ParseUint(strings.TrimSpace(value), 16, 64)
		}
	}
	if err != nil {
		return fmt.Errorf("read this process's capabilities: %w", err)
	}
	const netAdmin, netRaw = 12, 13
	var missing []error
	if effective&(1<<netAdmin) == 0 {
		missing = append(missing, errors.New("the capability NET_ADMIN is missing: nftables and addresses can't be "+
			"written: add it to the container, or to the unit's AmbientCapabilities"))
	}
	if effective&(1<<netRaw) == 0 {
		missing = append(missing, errors.New("the capability NET_RAW is missing: no advert can be sent: add it to the "+
			"container, or to the unit's AmbientCapabilities"))
	}
	return errors.Join(missing...)
}

// Reachable returns the addresses at which other gateways reach this one: for each family, one of the interface's own
// addresses. The address in before stays while it is usable.
func Reachable(name string, assigned []announce.Assigned, before []netip.Addr) []netip.Addr {
	index := announce.Index(name)
	var all []netip.Addr
	for _, four := range []bool{true, false} {
		isUsable := func(x announce.Assigned) bool {
			return x.Interface == index && x.Address.Is4() == four && x.Address.IsGlobalUnicast() && !x.Deprecated && !x.Marked
		}
		at := slices.IndexFunc(assigned, func(x announce.Assigned) bool {
			return isUsable(x) && slices.Contains(before, x.Address)
		})
		if at < 0 {
			at = slices.IndexFunc(assigned, isUsable)
		}
		if at >= 0 {
			all = append(all, assigned[at].Address)
		}
	}
	return all
}
