package sim

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/test/sim/api"
	"nowake.ai/svc-lb-mux/validation"
)

// Sim is a history.
type Sim struct {
	// Seed and Steps determine what happens: each step draws from its own random number generator.
	Seed  uint64
	Steps []int
	// Telling keeps the story.
	Telling bool

	budget    budget.Limit // budget of port changes; the zero value sets no limit
	language  validation.Language
	server    *api.Server
	rng       *rand.Rand
	habits    habits
	processes []*process
	buried    map[string]*process
	born      int
	promises  *promises
	world     *world
	policies  policies
	admission *admission
	checked   int // number of changes checked so far
	taken     int // number of steps done
	refused   int // number of requests that policies refused

	mu     sync.Mutex
	calls  []*call
	story  []string
	noted  []string
	points map[string]int
	// told counts the Events of each reason.
	told map[string]int
}

// Outcome is the result of a history.
type Outcome struct {
	Seed   uint64
	Steps  []int
	Broken string // the broken promise, or empty
	Story  []string
	Taken  int
	Points map[string]int
}

// Run plays a history, in a bubble of virtual time.
func Run(seed uint64, steps []int, telling bool) Outcome {
	language, err := validation.New(validation.DefaultPrefix, muxNamespace)
	if err != nil {
		panic(err)
	}
	s := newSim(language, seed, steps, telling)
	s.habits = newHabits(s.rng, seed)
	broken := s.play()
	s.killAll()
	for _, reason := range bounded() {
		s.points["told: "+reason] += s.told[reason]
	}
	return Outcome{Seed: seed, Steps: steps, Broken: broken, Story: s.story, Taken: s.taken, Points: s.points}
}

func newSim(language validation.Language, seed uint64, steps []int, telling bool) *Sim {
	s := &Sim{Seed: seed, Steps: steps, Telling: telling, language: language, points: map[string]int{},
		told: map[string]int{}, buried: map[string]*process{}}
	s.server = api.NewServer(time.Now)
	s.promises = newPromises(s)
	s.world = newWorld(s)
	s.admission = &admission{Sim: s}
	s.draw(-1)
	return s
}

func (s *Sim) killAll() {
	for len(s.processes) > 0 {
		s.kill(s.processes[0], nil)
	}
}

// draw starts to draw from the random numbers of a step.
func (s *Sim) draw(step int) { s.rng = rand.New(rand.NewPCG(s.Seed, uint64(step+10))) }

func (s *Sim) chance(percent int) bool { return s.rng.IntN(100) < percent }

func pick[T any](s *Sim, from ...T) T { return from[s.rng.IntN(len(from))] }

func compare(a, b string) int { return cmp.Compare(a, b) }

func sortedKeys[V any](of map[types.NamespacedName]V) []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(of), func(a, b types.NamespacedName) int {
		return cmp.Or(compare(a.Namespace, b.Namespace), compare(a.Name, b.Name))
	})
}

// play plays the whole history: mishaps, then recovery, then rest.
func (s *Sim) play() string {
	s.world.begin()
	s.admission.begin()
	s.newProcess(0).lead()
	synctest.Wait()
	for _, step := range s.Steps {
		s.draw(step)
		s.step(step)
		if broken := s.check(); broken != "" {
			return broken
		}
	}
	s.draw(-2)
	if s.policies.stand() { // forbidden writes must not be retried all the time
		if broken := cmp.Or(s.settle(), s.amidPolicies()); broken != "" {
			return broken
		}
		s.happen(-1, s.world.lift)
	}
	// Requests that were under way during the recovery may have made a restored ledger stale again. Then settle once
	// more.
	for again := true; again; again = len(s.world.badLedgers()) > 0 {
		if broken := s.settle(); broken != "" {
			return broken
		}
	}
	if broken := s.atRest(); broken != "" || !s.freezes() {
		return broken
	}
	return s.freeze()
}

// step lets one thing happen.
func (s *Sim) step(n int) {
	choices := s.choices()
	total := 0
	for _, c := range choices {
		total += c.weight
	}
	at := s.rng.IntN(total)
	for _, c := range choices {
		if at -= c.weight; at < 0 {
			s.happen(n, c.do)
			return
		}
	}
}

// happen runs a choice, and waits until all goroutines are blocked.
func (s *Sim) happen(n int, do func() string) {
	s.taken++
	what := do()
	synctest.Wait()
	if s.Telling && what != "" {
		s.story = append(s.story, fmt.Sprintf("%4d %s  %s", n, s.clock(), what))
	}
	slices.Sort(s.noted) // several goroutines add notes
	for _, note := range s.noted {
		s.story = append(s.story, "                    "+note)
	}
	s.noted = nil
}

// later adds a note to the story of the running choice. The caller holds the mutex.
func (s *Sim) later(what string) {
	if s.Telling {
		s.noted = append(s.noted, what)
	}
}

func (s *Sim) clock() string {
	return fmt.Sprintf("%9.3fs", time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).Seconds())
}

// check checks the new writes against the promises.
func (s *Sim) check() string {
	if s.admission.broken != "" {
		return s.admission.broken
	}
	for _, change := range s.server.Changes(s.checked) {
		s.checked++
		if s.Telling {
			s.story = append(s.story, "                    "+s.describe(&change))
		}
		if broken := s.promises.see(&change); broken != "" {
			return broken
		}
	}
	return ""
}

// describe formats a change in one line.
func (s *Sim) describe(c *api.Change) string {
	by := c.By
	if by == "" {
		by = "others"
	}
	if c.After == nil {
		return fmt.Sprintf("=> %d %s %s is gone (%s)", c.Version, c.Kind, c.Key, by)
	}
	text := fmt.Sprintf("=> %d %s %s by %s", c.Version, c.Kind, c.Key, by)
	keys := s.language.Keys()
	switch o := c.After.(type) {
	case *corev1.Service:
		for _, port := range o.Spec.Ports {
			text += fmt.Sprintf(" %s:%d/%s", port.Name, port.Port, port.Protocol)
		}
		for _, key := range [...]string{keys.Generation, keys.Ledger, keys.AllocationConfigMap, keys.ExternalPorts,
			keys.Ports, keys.PortRange, keys.Disabled} {
			if value, is := o.Annotations[key]; is {
				text += fmt.Sprintf(" %s=%q", strings.TrimPrefix(key, s.language.Prefix()+"/"), value)
			}
		}
		for _, ingress := range o.Status.LoadBalancer.Ingress {
			text += " shows " + ingress.IP + ingress.Hostname
		}
		for _, condition := range o.Status.Conditions {
			text += fmt.Sprintf(" %s=%s(%s)", strings.TrimPrefix(condition.Type, s.language.Prefix()+"/"), condition.Status,
				condition.Reason)
		}
		if o.DeletionTimestamp != nil {
			text += " deleting"
		}
	case *corev1.ConfigMap:
		text += " " + s.promises.ledgerText(o)
	default:
		text += describeGateways(o)
	}
	return text
}

// point counts a kind of mishap, to report coverage.
func (s *Sim) point(name string) { s.points[name]++ }
