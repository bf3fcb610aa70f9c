package sim

import (
	"fmt"
	"slices"
	"testing/synctest"
	"time"
)

// fates returns the events that processes can suffer.
func (s *Sim) fates() []choice {
	list := []choice{{s.habits.relist, s.weather}}
	if len(s.processes) < 2 {
		list = append(list, choice{2, func() string {
			p := s.newProcess(int64(s.rng.IntN(12)))
			s.point("start behind")
			return p.name + " starts"
		}})
	}
	leaders := slices.ContainsFunc(s.processes, func(p *process) bool { return p.leading })
	for _, p := range s.processes {
		list = append(list, choice{s.habits.crash, func() string { return s.crash(p) }},
			choice{s.habits.clock, func() string { return s.jump(p) }})
		switch {
		case !p.leading && !leaders:
			list = append(list, choice{6, func() string { return s.elect(p) }})
		case !p.leading:
			list = append(list, choice{s.habits.leaders, func() string {
				s.point("two leaders")
				return s.elect(p)
			}})
		}
	}
	return list
}

func (s *Sim) elect(p *process) string {
	p.lead()
	return p.name + " leads"
}

func (s *Sim) jump(p *process) string {
	by := pick(s, -10*time.Minute, -30*time.Second, -time.Second, time.Second, 30*time.Second, 10*time.Minute)
	p.skew += by
	s.point("clock jump")
	return fmt.Sprintf("the clock of %s jumps by %s", p.name, by)
}

func (s *Sim) crash(p *process) string {
	s.point("crash")
	if len(s.underway(false))+len(s.underway(true)) > 0 {
		s.point("crash with requests under way")
	}
	if p.leading && slices.ContainsFunc(s.processes, func(other *process) bool { return other != p && other.leading }) &&
		slices.ContainsFunc(s.underway(false), func(c *call) bool { return c.from == p }) {
		s.point("lost lead in mid-apply")
	}
	s.kill(p, nil)
	return p.name + " dies"
}

// crashAround lets a process die just before or just after one of its writes.
func (s *Sim) crashAround(c *call) string {
	moment := pick(s, "before", "after")
	s.point("crash " + moment + " " + c.Verb + " " + string(c.Kind))
	if moment == "after" {
		s.arrive(c)
	}
	s.kill(c.from, c)
	return fmt.Sprintf("%s: dies %s it", c.name, moment)
}

// kill ends a process. Some of its requests under way still arrive, except the given one.
func (s *Sim) kill(p *process, except *call) {
	for _, c := range s.underway(false) {
		if c.from == p && c != except && s.chance(50) {
			s.arrive(c)
		}
	}
	s.mu.Lock()
	p.dead = true
	s.mu.Unlock()
	p.end()
	for _, c := range append(s.underway(false), s.underway(true)...) {
		if c.from == p {
			c.err = p.ctx.Err()
			s.answer(c)
		}
	}
	s.processes = slices.DeleteFunc(s.processes, func(other *process) bool { return other == p })
	s.buried[p.name] = p // its last writes are checked only after its end
	synctest.Wait()
}

// weather compacts the history, or makes an informer list again.
func (s *Sim) weather() string {
	if len(s.processes) == 0 || s.chance(30) {
		s.server.Compact(s.server.Version())
		s.point("compaction")
		return "the past is compacted"
	}
	p := pick(s, s.processes...)
	inf := pick(s, p.informers()...)
	s.point("relist")
	inf.relist()
	return fmt.Sprintf("%s lists %s anew", p.name, inf.name)
}

// cut breaks a watch. The watch resumes at its last version, unless that is compacted.
func (s *Sim) cut() string {
	if len(s.processes) == 0 {
		return ""
	}
	p := pick(s, s.processes...)
	inf := pick(s, p.informers()...)
	inf.watch(inf.at)
	s.point("watch resumed")
	return fmt.Sprintf("%s watches %s again, from %d on", p.name, inf.name, inf.at)
}

// pass advances time to the next due item, or by a shorter time. While a slow write is on its way, the time is always
// short: a write doesn't take as long as a lease.
func (s *Sim) pass() string {
	wait := time.Duration(s.rng.IntN(200)) * time.Millisecond
	if next := s.nextDue(); !next.IsZero() && s.chance(50) && !s.isSlow() {
		wait = min(time.Until(next), time.Minute)
	}
	if wait > 0 {
		time.Sleep(wait)
	}
	return fmt.Sprintf("%s pass", wait)
}

func (s *Sim) nextDue() time.Time {
	var first time.Time
	for _, p := range s.processes {
		for _, q := range p.queues {
			if next := q.next(); !next.IsZero() && (first.IsZero() || next.Before(first)) {
				first = next
			}
		}
	}
	return first
}
