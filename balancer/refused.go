package balancer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/table"
	"nowake.ai/svc-lb-mux/balancer/want"
)

// unit identifies an address, or a service by its first number. Without a protocol it is an address.
type unit struct {
	address  netip.Addr
	protocol corev1.Protocol
	first    uint16
}

// content is an address or a service.
type content struct {
	mux     types.NamespacedName
	address want.Address
	service want.Service
}

// contents are the addresses and services of tables, by unit.
type contents map[unit]content

func contentsOf(t *want.Tables) contents {
	all := contents{}
	if t == nil {
		return all
	}
	for _, a := range t.Addresses {
		all[unit{address: a.Address}] = content{mux: a.Mux, address: a}
	}
	for _, s := range t.Services {
		all[unit{s.Address, s.Protocol, s.First}] = content{mux: s.Mux, service: s}
	}
	return all
}

// tables returns the contents as sorted tables.
func (c contents) tables() *want.Tables {
	t := &want.Tables{}
	for _, u := range slices.SortedFunc(maps.Keys(c), compareUnits) {
		if u.protocol == "" {
			t.Addresses = append(t.Addresses, c[u].address)
		} else {
			t.Services = append(t.Services, c[u].service)
		}
	}
	return t
}

func compareUnits(a, b unit) int {
	return cmp.Or(a.address.Compare(b.address), cmp.Compare(a.protocol, b.protocol), cmp.Compare(a.first, b.first))
}

// refusal is a part that the kernel refused.
type refusal struct {
	content
	isRemoval bool
	reason    string
	at        time.Time
}

// retryRefused is how long the agent waits before it tries an unchanged refused part again.
const retryRefused = 30 * time.Second

// apply makes the kernel hold the tables. Parts that the kernel refuses are recorded, and stay as they were. An error
// is about the whole machine.
func (a *Agent) apply(wanted *want.Tables) error {
	goal := a.withoutRefused(wanted)
	err := a.applyOnce(goal)
	switch {
	case err == nil:
		a.applied = goal
		return nil
	case !errors.Is(err, table.ErrRefused) || isOfMachine(err):
		a.forgetUnlessIntact()
		return err
	}
	a.Log.Warnw("The kernel refused a transaction: it is split by mux", "error", err.Error())
	return a.split(wanted)
}

// applyOnce sends one transaction.
func (a *Agent) applyOnce(tables *want.Tables) error {
	start := time.Now()
	a.inKernel.Store(true)
	done, err := a.Tables.Apply(tables)
	a.inKernel.Store(false)
	a.lastLoop.Store(time.Now().UnixNano())
	a.Metrics.transactions.Observe(time.Since(start).Seconds())
	a.guard.after(a.Tables, done != table.Applied{}, time.Since(start))
	if done.Rebuilt {
		a.Metrics.rebuilt.Inc()
		a.Log.Infow("Made the tables from nothing", "added", done.Added)
	}
	return err
}

// forgetUnlessIntact forgets the applied tables if the kernel's tables don't guard the addresses any more. Then the
// pass gives up all seats.
func (a *Agent) forgetUnlessIntact() {
	if intact, err := a.Tables.Intact(); err != nil || !intact {
		a.applied = nil
	}
}

// isOfMachine is true for errors that don't depend on the content of a transaction.
func isOfMachine(err error) bool {
	return slices.ContainsFunc([]unix.Errno{unix.EPERM, unix.EACCES, unix.EOPNOTSUPP, unix.EPROTONOSUPPORT,
		unix.EAFNOSUPPORT, unix.ENOMEM, unix.ENOBUFS},
		func(e unix.Errno) bool { return errors.Is(err, e) })
}

// withoutRefused returns the wanted tables, but with parts that the kernel refused lately as the kernel has them.
func (a *Agent) withoutRefused(wanted *want.Tables) *want.Tables {
	if len(a.refused) == 0 {
		return wanted
	}
	all, applied, now := contentsOf(wanted), contentsOf(a.applied), time.Now()
	for u, r := range a.refused {
		c, isWanted := all[u]
		if now.Sub(r.at) > retryRefused || isWanted == r.isRemoval || isWanted && !reflect.DeepEqual(c, r.content) {
			delete(a.refused, u)
			continue
		}
		all.put(u, applied)
	}
	return all.tables()
}

// put sets a unit as other contents have it, and removes it if they don't have it.
func (c contents) put(u unit, from contents) {
	what, there := from[u]
	if !there {
		delete(c, u)
		return
	}
	c[u] = what
}

// splitting brings the kernel to the wanted state, in as few transactions as refusals allow.
type splitting struct {
	agent  *Agent
	have   contents
	wanted contents
	// refused are the units that the kernel refused in this round.
	refused map[unit]error
	failed  error // an error about the whole machine
}

// split applies the difference in parts. A part can depend on another one: a range that takes over a number must wait
// until the number's old service is gone. So split tries refused parts again, as long as another part succeeds in each
// round.
func (a *Agent) split(wanted *want.Tables) error {
	s := splitting{agent: a, have: contentsOf(a.applied), wanted: contentsOf(wanted)}
	rest := s.differing()
	for {
		s.refused = map[unit]error{}
		s.try(rest)
		a.applied = s.have.tables()
		if s.failed != nil {
			a.forgetUnlessIntact()
			return s.failed
		}
		left := slices.DeleteFunc(slices.Clone(rest), func(u unit) bool { return s.refused[u] == nil })
		if len(left) == 0 || len(left) == len(rest) {
			break
		}
		rest = left
	}
	clear(a.refused)
	for u, err := range s.refused {
		c, isWanted := s.wanted[u]
		if !isWanted {
			c = s.have[u]
		}
		a.refused[u] = refusal{c, !isWanted, err.Error(), time.Now()}
		a.Log.Warnw("The kernel refused a part of a mux", "mux", c.mux.String(), "address", u.address, "port", u.first,
			"protocol", u.protocol, "error", err.Error())
	}
	return nil
}

// differing returns the units that differ: removals first, then by mux.
func (s *splitting) differing() []unit {
	var units []unit
	for u, c := range s.have {
		if now, stays := s.wanted[u]; !stays || !reflect.DeepEqual(c, now) {
			units = append(units, u)
		}
	}
	for u := range s.wanted {
		if _, there := s.have[u]; !there {
			units = append(units, u)
		}
	}
	order := func(u unit) (int, string) {
		if c, isWanted := s.wanted[u]; isWanted {
			return 1, c.mux.String()
		}
		return 0, s.have[u].mux.String()
	}
	slices.SortFunc(units, func(a, b unit) int {
		rankA, muxA := order(a)
		rankB, muxB := order(b)
		return cmp.Or(cmp.Compare(rankA, rankB), cmp.Compare(muxA, muxB), compareUnits(a, b))
	})
	return units
}

// try applies some units together. If the kernel refuses them, each half is tried.
func (s *splitting) try(units []unit) {
	if len(units) == 0 || s.failed != nil {
		return
	}
	next := maps.Clone(s.have)
	for _, u := range units {
		next.put(u, s.wanted)
	}
	err := s.agent.applyOnce(next.tables())
	switch {
	case err == nil:
		s.have = next
	case !errors.Is(err, table.ErrRefused) || isOfMachine(err):
		s.failed = err
	case len(units) == 1:
		s.refused[units[0]] = err
	default:
		s.try(units[:len(units)/2])
		s.try(units[len(units)/2:])
	}
}

// text says what the kernel refused.
func (r *refusal) text(u unit) string {
	switch {
	case u.protocol == "":
		return fmt.Sprintf("address %s: %s", u.address, r.reason)
	case r.service.IsRange():
		return fmt.Sprintf("ports %d to %d/%s of %s: %s", r.service.First, r.service.Last, u.protocol, u.address, r.reason)
	}
	return fmt.Sprintf("port %d/%s of %s: %s", u.first, u.protocol, u.address, r.reason)
}
