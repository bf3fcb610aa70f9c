package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/test/sim/api"
)

// habits are what a history tends to. Each has its own: where everything goes wrong at once, little is found.
type habits struct {
	fault, late, crash, leaders, clock, relist, skip, ledger, drift, deeds int
	slow                                                                   map[api.Kind]int
}

func newHabits(rng *rand.Rand) habits {
	some := func(most int) int { return max(0, rng.IntN(2*most)-most/2) }
	h := habits{fault: some(12), late: some(40), crash: some(3), leaders: some(3), clock: some(2), relist: some(3), skip: some(30),
		ledger: some(3), drift: some(5), deeds: 2 + rng.IntN(6), slow: map[api.Kind]int{}}
	for _, kind := range kinds() {
		h.slow[kind] = []int{8, 8, 8, 3, 1}[rng.IntN(5)]
	}
	return h
}

// choice is something that may happen next.
type choice struct {
	weight int
	do     func() string
}

// choices are all that may happen now.
func (s *Sim) choices() []choice {
	list := append(s.requests(), s.deliveries()...)
	list = append(list, s.work()...)
	list = append(list, s.fates()...)
	list = append(list, choice{s.habits.deeds, s.world.deed}, choice{s.habits.drift, s.world.drift}, choice{s.habits.ledger, s.world.ledgerDeed})
	if orphans := s.server.Orphans(); len(orphans) > 0 {
		list = append(list, choice{2, func() string { return s.collect(&orphans[s.rng.IntN(len(orphans))]) }})
	}
	return append(list, choice{2, s.pass})
}

// collect is the garbage collector.
func (s *Sim) collect(c *api.Change) string {
	if err := s.server.Delete(c.Kind, c.Key, nil); err != nil {
		panic(err)
	}
	return fmt.Sprintf("the garbage collector deletes %s %s", c.Kind, c.Key)
}

// requests are on their way.
func (s *Sim) requests() []choice {
	var list []choice
	for _, c := range s.underway(false) {
		list = append(list, choice{20, func() string { return s.deal(c) }})
	}
	for _, c := range s.underway(true) {
		list = append(list, choice{20, func() string {
			s.answer(c)
			return "is answered: " + c.name
		}})
	}
	return list
}

func (s *Sim) deal(c *call) string {
	if s.chance(s.habits.fault) {
		var possible []fault
		for _, f := range faults() {
			if !f.done || c.Verb != "get" {
				possible = append(possible, f)
			}
		}
		f := pick(s, possible...)
		s.point(f.name + " of " + c.Verb + " " + string(c.Kind))
		s.fail(c, f)
		return fmt.Sprintf("%s: goes wrong: %s", c.name, f.name)
	}
	s.arrive(c)
	if s.chance(s.habits.late) {
		s.point("late answer")
		return fmt.Sprintf("%s: arrives: %v", c.name, c.err)
	}
	err := c.err
	s.answer(c)
	return fmt.Sprintf("%s: %v", c.name, err)
}

// deliveries are events that informers wait for.
func (s *Sim) deliveries() []choice {
	var list []choice
	for _, p := range s.processes {
		for _, kind := range kinds() {
			if inf := p.cache.kinds[kind]; inf.stream.Waits() {
				list = append(list, choice{s.habits.slow[kind], func() string { return s.deliver(p, inf) }})
			}
		}
	}
	return list
}

func (s *Sim) deliver(p *process, inf *informer) string {
	n := 1
	if s.chance(s.habits.skip) {
		n = 2 + s.rng.IntN(5)
		s.point("skipped states")
	}
	what, err := inf.deliver(n)
	if err != nil {
		s.point("410")
		inf.relist()
		return fmt.Sprintf("%s lists %s anew: %v", p.name, inf.kind, err)
	}
	return fmt.Sprintf("%s hears of %s: %s", p.name, inf.kind, what)
}

// work is what waits in queues.
func (s *Sim) work() []choice {
	var list []choice
	for _, p := range s.processes {
		for _, q := range p.sorted() {
			for _, item := range q.ready() {
				list = append(list, choice{8, func() string { return s.hand(p, q, item) }})
			}
		}
	}
	return list
}

func (s *Sim) hand(p *process, q *queue, item reconcile.Request) string {
	if q.name == "mux" {
		p.begins(item.NamespacedName)
	}
	q.hand(item)
	return fmt.Sprintf("%s looks at %s (%s)", p.name, item, q.name)
}

func (p *process) sorted() []*queue {
	return slices.SortedFunc(slices.Values(p.queues), func(a, b *queue) int { return compare(a.name, b.name) })
}

// fates are what becomes of processes.
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
		list = append(list, choice{s.habits.crash, func() string { return s.crash(p) }}, choice{s.habits.clock, func() string { return s.jump(p) }})
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
	s.kill(p)
	return p.name + " dies"
}

// kill ends a process: of its requests that are under way, some still arrive.
func (s *Sim) kill(p *process) {
	for _, c := range s.underway(false) {
		if c.from == p && s.chance(50) {
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
	synctest.Wait()
}

// weather is what becomes of watches.
func (s *Sim) weather() string {
	if len(s.processes) == 0 || s.chance(30) {
		s.server.Compact(s.server.Version())
		s.point("compaction")
		return "the past is compacted"
	}
	p := pick(s, s.processes...)
	kind := pick(s, kinds()...)
	s.point("relist")
	p.cache.kinds[kind].relist()
	return fmt.Sprintf("%s lists %s anew", p.name, kind)
}

// pass has time pass: until something is due, or not as long.
func (s *Sim) pass() string {
	wait := time.Duration(s.rng.IntN(200)) * time.Millisecond
	if next := s.nextDue(); !next.IsZero() && s.chance(50) {
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

// The cast of every history.
const muxNamespace = "svc-mux"

func muxes() []types.NamespacedName {
	return []types.NamespacedName{{Namespace: muxNamespace, Name: "mux"}, {Namespace: muxNamespace, Name: "spare"}}
}
