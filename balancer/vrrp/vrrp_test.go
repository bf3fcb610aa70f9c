package vrrp_test

import (
	"encoding/hex"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/balancer/vrrp"
	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

func addr(text string) netip.Addr { return netip.MustParseAddr(text) }

func compareIP() cmp.Option { return cmp.Comparer(func(a, b netip.Addr) bool { return a == b }) }

func TestAdvertsAreReadBackAsWritten(t *testing.T) {
	for _, ends := range [][2]netip.Addr{{addr("10.0.0.1"), addr("224.0.0.18")}, {addr("fe80::1"), addr("ff02::12")}} {
		want := vrrp.Advert{RouterID: 7, Priority: 254, Interval: 100 * time.Millisecond, Addresses: ends[:1]}
		message, err := want.Append(nil, ends[0], ends[1])
		if err != nil {
			t.Fatal(err)
		}
		got, err := vrrp.Parse(message, ends[0], ends[1])
		if diff := cmp.Diff(want, got, compareIP()); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		for i := range message {
			broken := slices.Clone(message)
			broken[i] ^= 0x10
			if got, err := vrrp.Parse(broken, ends[0], ends[1]); err == nil {
				t.Errorf("byte %d is broken, and it reads %+v", i, got)
			}
		}
		if _, err := vrrp.Parse(message, ends[0], ends[0]); err == nil {
			t.Error("an advert to another destination was read")
		}
	}
}

func TestChecksumWithoutPseudoHeaderIsReadForIPv4(t *testing.T) {
	message, err := hex.DecodeString("3107fe01000a" + "c6eb" + "0a000001")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := vrrp.Parse(message, addr("10.0.0.1"), addr("224.0.0.18")); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	golden.Seeds(f)
	f.Add([]byte("\x31\x07\xfe\x01\x00\x0a\xc6\xeb\x0a\x00\x00\x01"), false)
	f.Add([]byte("\x31\x07\xfe\x00\x00\x0a\xbd\xed"), true)
	f.Fuzz(func(t *testing.T, message []byte, six bool) {
		source, destination := addr("10.0.0.1"), addr("224.0.0.18")
		if six {
			source, destination = addr("fe80::1"), addr("ff02::12")
		}
		got, err := vrrp.Parse(message, source, destination)
		if err != nil {
			return
		}
		again, err := got.Append(nil, source, destination)
		if err != nil {
			t.Fatal(err)
		}
		read, err := vrrp.Parse(again, source, destination)
		if diff := cmp.Diff(got, read, compareIP()); err != nil || diff != "" {
			t.Errorf("%v (-first +again):\n%s", err, diff)
		}
	})
}

// segment are routers that hear each other, but for those that are cut off.
type segment struct {
	routers []vrrp.Router
	cut     []bool
	now     time.Time
	// isLost says that an advert doesn't reach a router; nil without losses.
	isLost func(to int) bool
}

// run lets the time pass until the end, and delivers the adverts.
func (s *segment) run(end time.Time) {
	for ; s.now.Before(end); s.now = s.now.Add(5 * time.Millisecond) {
		for i := range s.routers {
			var actions []vrrp.Action
			s.routers[i], actions = s.routers[i].Tick(s.now)
			s.deliver(i, actions)
		}
	}
}

func (s *segment) deliver(from int, actions []vrrp.Action) {
	if !slices.Contains(actions, vrrp.Advertise) && !slices.Contains(actions, vrrp.Resign) {
		return
	}
	advert := vrrp.Advert{RouterID: 7, Priority: s.routers[from].Priority, Interval: s.routers[from].Interval}
	if slices.Contains(actions, vrrp.Resign) {
		advert.Priority = 0
	}
	for i := range s.routers {
		if i != from && s.cut[i] == s.cut[from] && (s.isLost == nil || !s.isLost(i)) {
			var answers []vrrp.Action
			s.routers[i], answers = s.routers[i].Receive(s.now, &advert, s.routers[from].Source)
			s.deliver(i, answers)
		}
	}
}

func (s *segment) active() []int {
	var active []int
	for i := range s.routers {
		if s.routers[i].State == vrrp.Active {
			active = append(active, i)
		}
	}
	return active
}

func drawSegment(t *rapid.T) *segment {
	s := &segment{now: time.Unix(0, 0)}
	for i := range rapid.IntRange(2, 4).Draw(t, "routers") {
		r := vrrp.Router{Priority: rapid.Uint8Range(1, 254).Draw(t, "priority"), Interval: 100 * time.Millisecond,
			Believed: 100 * time.Millisecond,
			Source:   addr("10.0.0.1")}
		for range i {
			r.Source = r.Source.Next()
		}
		s.routers, s.cut = append(s.routers, r.Start(s.now)), append(s.cut, false)
	}
	return s
}

// preferred is true if one of the routers with the highest priority is active, and no other one.
func (s *segment) preferred() bool {
	active := s.active()
	return len(active) == 1 &&
		!slices.ContainsFunc(s.routers, func(r vrrp.Router) bool { return r.Priority > s.routers[active[0]].Priority })
}

func TestOneRouterIsActiveAfterAPartitionHeals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSegment(t)
		s.run(s.now.Add(time.Second))
		if !s.preferred() {
			t.Fatalf("in a quiet segment, %v are active", s.active())
		}
		for i := range s.cut {
			s.cut[i] = rapid.Bool().Draw(t, "cut")
		}
		s.run(s.now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "partition")) * time.Millisecond))
		clear(s.cut)
		s.run(s.now.Add(time.Second))
		if !s.preferred() {
			t.Errorf("a second after the partition, %v are active", s.active())
		}
	})
}

func TestAStoppedRouterIsReplacedWithinOneInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSegment(t)
		s.run(s.now.Add(time.Second))
		best := s.active()[0]
		var actions []vrrp.Action
		s.routers[best], actions = s.routers[best].Stop()
		s.deliver(best, actions)
		s.run(s.now.Add(110 * time.Millisecond))
		if got := s.active(); len(got) != 1 || got[0] == best {
			t.Errorf("%v are active after %d stopped", got, best)
		}
	})
}

// Lost adverts and partitions may give a segment two holders, or none. Once the segment is quiet, it has one.
func TestOneRouterIsActiveAfterLossesAndPartitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSegment(t)
		for range rapid.IntRange(1, 4).Draw(t, "storms") {
			lost := rapid.IntRange(0, 95).Draw(t, "lost percent")
			chance := rapid.Custom(func(t *rapid.T) bool { return rapid.IntRange(0, 99).Draw(t, "chance") < lost })
			s.isLost = func(int) bool { return chance.Draw(t, "is lost") }
			for i := range s.cut {
				s.cut[i] = rapid.Bool().Draw(t, "cut")
			}
			if i := rapid.IntRange(0, 2*len(s.routers)-1).Draw(t, "restarts"); i < len(s.routers) {
				var actions []vrrp.Action
				s.routers[i], actions = s.routers[i].Stop()
				s.deliver(i, actions)
				s.routers[i] = s.routers[i].Start(s.now)
			}
			s.run(s.now.Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "storm")) * time.Millisecond))
			s.isLost = nil
			clear(s.cut)
			s.run(s.now.Add(time.Second))
			if !s.preferred() {
				t.Fatalf("a second after the storm, %v are active", s.active())
			}
			for range 50 { // and it stays so
				s.run(s.now.Add(20 * time.Millisecond))
				if !s.preferred() {
					t.Fatalf("in a quiet segment, %v are active", s.active())
				}
			}
		}
	})
}

// A forged advert names any interval from 10 ms to 40.95 s. What a router believes is between its own interval and the
// longest one of its pool.
func TestIntervalsOfAdvertsAreBelievedWithinThePools(t *testing.T) {
	now := time.Unix(0, 0)
	for interval, waits := range map[time.Duration]time.Duration{10 * time.Millisecond: 300 * time.Millisecond,
		100 * time.Millisecond: 300 * time.Millisecond,
		time.Second:            3 * time.Second, 40950 * time.Millisecond: 3 * time.Second} {
		for _, state := range []vrrp.State{vrrp.Backup, vrrp.Active} {
			r := vrrp.Router{Priority: 254, Interval: 100 * time.Millisecond, Believed: time.Second,
				Source: addr("10.0.0.1")}.Start(now)
			r.State = state
			r, _ = r.Receive(now, &vrrp.Advert{RouterID: 7, Priority: 255, Interval: interval}, addr("10.0.0.2"))
			skew := waits / 3 * 2 / 256
			if got := r.Deadline.Sub(now); r.State != vrrp.Backup || got != waits+skew {
				t.Errorf("state %d, an advert's interval of %s: the router waits %s, want %s", state, interval, got, waits+skew)
			}
		}
	}
}

// While the pool's interval changes, the holder may still send at the longer one when another gateway starts.
func TestRouterThatStartsWaitsForTheLongestBelievedInterval(t *testing.T) {
	now := time.Unix(0, 0)
	r := vrrp.Router{Priority: 253, Interval: 100 * time.Millisecond, Believed: 2 * time.Second}.Start(now)
	if r.Deadline.Before(now.Add(3 * 2 * time.Second)) {
		t.Errorf("it takes the seat after %s", r.Deadline.Sub(now))
	}
}

// The holder's last advert may have named the longer interval: a backup still waits as long for the next one.
func TestBackupWaitsForTheNextAdvertAsLongAsBefore(t *testing.T) {
	now := time.Unix(0, 0)
	r := vrrp.Router{Priority: 253, Interval: time.Second, Believed: time.Second}.Start(now)
	r, _ = r.Receive(now, &vrrp.Advert{RouterID: 7, Priority: 254, Interval: time.Second}, addr("10.0.0.2"))
	before := r.Deadline
	if r = r.Adopt(now, 100*time.Millisecond, 100*time.Millisecond); r.Deadline != before {
		t.Errorf("the deadline became %s, and was %s", r.Deadline, before)
	}
	active := vrrp.Router{Priority: 254, Interval: time.Second, Believed: time.Second}.Start(now)
	active, _ = active.Tick(active.Deadline)
	if active = active.Adopt(active.Deadline.Add(-time.Second), 100*time.Millisecond,
		time.Second); active.Deadline.After(now.Add(4 * time.Second)) {
		t.Errorf("the holder sends its next advert only at %s", active.Deadline)
	}
}
