package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/test/sim/api"
)

// habits are the probabilities of mishaps in a history. Each history has its own: with every mishap at once, few faults
// are found.
type habits struct {
	fault, late, crash, leaders, clock, relist, skip, ledger, drift, deeds, policy int
	slow                                                                           map[api.Kind]int
	// The next fields are set for seeds from Admitted on.
	reviews                               bool
	outage, around, cut, bookmarks, moves int
	// bounds is set for seeds from Bounded on.
	bounds bool
	// gateways is set for seeds from Routed on: the percentage of deeds that concern the Gateway API.
	gateways int
	// slowWrites is set for seeds from Slow on: the percentage of writes that arrive late.
	slowWrites int
}

// Slow is the first seed whose histories have slow writes: much happens between the decision of such a write and its
// arrival. They have everything of Edited histories, too, and no Gateways.
const Slow = 20_000_000_000

func newHabits(rng *rand.Rand, seed uint64) habits {
	some := func(most int) int { return max(0, rng.IntN(2*most)-most/2) }
	h := habits{fault: some(12), late: some(40), crash: some(3), leaders: some(3), clock: some(2), relist: some(3),
		skip:   some(30),
		ledger: some(3), drift: some(5), deeds: 2 + rng.IntN(6), slow: map[api.Kind]int{}}
	for _, kind := range kinds() {
		h.slow[kind] = []int{8, 8, 8, 3, 1}[rng.IntN(5)]
	}
	if seed >= Policed {
		h.policy = rng.IntN(4)
	}
	if seed >= Admitted {
		h.policy = max(0, h.policy-2) // most histories have no policies
		h.reviews, h.outage, h.around, h.cut, h.bookmarks = rng.IntN(4) > 0, some(2), rng.IntN(8), some(3), some(2)
		h.moves = rng.IntN(3)
		if !h.reviews {
			h.outage = 0
		}
	}
	h.bounds = seed >= Bounded
	if seed >= Slow {
		h.slowWrites, h.leaders = 10+rng.IntN(40), 1+rng.IntN(10)
	} else if seed >= Routed {
		for _, kind := range servedKinds() {
			h.slow[kind] = []int{8, 8, 8, 3, 1}[rng.IntN(5)]
		}
		h.gateways = 20 + rng.IntN(60)
	}
	return h
}

// choice is something that may happen next.
type choice struct {
	weight int
	do     func() string
}

// choices returns everything that may happen now.
func (s *Sim) choices() []choice {
	list := append(s.requests(), s.deliveries()...)
	list = append(list, s.work()...)
	list = append(list, s.fates()...)
	list = append(list, choice{s.habits.deeds, s.world.deed}, choice{s.habits.drift, s.world.drift},
		choice{s.habits.ledger, s.world.ledgerDeed})
	if orphans := s.server.Orphans(); len(orphans) > 0 {
		list = append(list, choice{2, func() string { return s.collect(&orphans[s.rng.IntN(len(orphans))]) }})
	}
	return append(list, choice{2, s.pass}, choice{s.habits.policy, s.world.policy},
		choice{s.habits.outage, s.admission.outage},
		choice{s.habits.cut, s.cut}, choice{s.habits.moves, s.world.moveLedger})
}

// collect acts as the garbage collector.
func (s *Sim) collect(c *api.Change) string {
	if err := s.server.Collect(c); err != nil {
		panic(err)
	}
	if c.After != nil {
		return fmt.Sprintf("the garbage collector takes owners that have gone off %s %s", c.Kind, c.Key)
	}
	return fmt.Sprintf("the garbage collector deletes %s %s", c.Kind, c.Key)
}

// requests returns the requests and answers that are on their way.
func (s *Sim) requests() []choice {
	var list []choice
	for _, c := range s.underway(false) {
		if c.weight == 0 {
			c.weight = 20
			if s.habits.slowWrites > 0 && !c.reads() && s.chance(s.habits.slowWrites) {
				s.point("slow write")
				c.weight = 1
			}
		}
		list = append(list, choice{c.weight, func() string { return s.deal(c) }})
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
	if !c.reads() && s.habits.around > 0 && s.chance(s.habits.around) {
		return s.crashAround(c)
	}
	if s.chance(s.habits.fault) {
		var possible []fault
		for _, f := range faults() {
			if !f.done || !c.reads() {
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

// deliveries returns the events that informers have yet to receive.
func (s *Sim) deliveries() []choice {
	var list []choice
	for _, p := range s.processes {
		for _, inf := range p.informers() {
			switch {
			case inf.stream.Waits():
				list = append(list, choice{s.habits.slow[inf.kind], func() string { return s.deliver(p, inf) }})
			case s.habits.bookmarks > 0 && inf.at < s.server.Version():
				list = append(list, choice{s.habits.bookmarks, func() string { return s.bookmark(p, inf) }})
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
		return fmt.Sprintf("%s lists %s anew: %v", p.name, inf.name, err)
	}
	return fmt.Sprintf("%s hears of %s: %s", p.name, inf.name, what)
}

// bookmark tells an informer the present version, although no object of its kind changed.
func (s *Sim) bookmark(p *process, inf *informer) string {
	event, err := inf.stream.Next(true)
	if err != nil || event == nil || event.Type != watch.Bookmark {
		panic(fmt.Sprintf("no bookmark, but %v, %v", event, err))
	}
	inf.at = event.Version
	s.point("bookmark")
	return fmt.Sprintf("%s hears that %s are as they were, up to %d", p.name, inf.name, inf.at)
}

// work returns the items that wait in queues.
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
	if q.name == "served-gateway" {
		p.served.looksAt(item.NamespacedName)
	}
	q.hand(item)
	return fmt.Sprintf("%s looks at %s (%s)", p.name, item, q.name)
}

func (p *process) sorted() []*queue {
	return slices.SortedFunc(slices.Values(p.queues), func(a, b *queue) int { return compare(a.name, b.name) })
}

// The muxes of every history.
const muxNamespace = "svc-mux"

func ownMuxes() []types.NamespacedName {
	return []types.NamespacedName{{Namespace: muxNamespace, Name: "mux"}, {Namespace: muxNamespace, Name: "spare"}}
}

// muxes returns the muxes that a history can have.
func (s *Sim) muxes() []types.NamespacedName {
	all := ownMuxes()
	if s.hasGateways() {
		for _, name := range gateways() {
			all = append(all, muxOf(name))
		}
	}
	return all
}
