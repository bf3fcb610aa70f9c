package faults

import (
	"net/http"
	"slices"
	"sync"
)

// Rule is one thing that shall happen to some requests.
type Rule struct {
	// Name stands in the log and in errors; it needn't be given.
	Name string
	Match
	// Skip leaves the first so many matches alone.
	Skip int
	// Times is on how many matches the rule acts; 0 means always.
	Times int
	// Do is what happens. Nil lets the request pass: such a rule only counts, and can be waited for.
	Do Action
}

// rules is the ordered list of a proxy.
type rules struct {
	mu   sync.Mutex
	list []*liveRule
}

type liveRule struct {
	Rule
	handle *Handle
}

func (s *rules) add(rule Rule, handle *Handle) *Handle {
	if rule.Do == nil {
		rule.Do = func(_ *Call, next Next) (*http.Response, error) { return next() }
	}
	live := &liveRule{Rule: rule, handle: handle}
	handle.forget = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.list = slices.DeleteFunc(s.list, func(other *liveRule) bool { return other == live })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, live)
	return handle
}

func (s *rules) snapshot() []*liveRule {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

// apply lets the first of these rules act that wants to, with the rules after it as what comes next.
func apply(list []*liveRule, call *Call, last Next) (*http.Response, error) {
	for i, rule := range list {
		if !rule.matches(call.Request) || !rule.handle.take(rule.Skip, rule.Times) {
			continue
		}
		call.note(rule.Name)
		return rule.Do(call, func() (*http.Response, error) { return apply(list[i+1:], call, last) })
	}
	return last()
}

// Add puts a rule at the end of the list. It acts on requests that come in from now on.
func (p *Proxy) Add(rule Rule) *Handle {
	return p.rules.add(rule, newHandle(rule.Name))
}

// Pause keeps matching requests waiting, not yet made, until it is released.
func (p *Proxy) Pause(match Match) *Hold {
	handle := newHandle("pause")
	p.rules.add(Rule{Name: "pause", Match: match, Do: gate(handle.removed)}, handle)
	return &Hold{Handle: handle}
}

// OnWrite calls fn before and after each write, at exactly these points: not yet made, and made but not yet
// answered. The client gets no answer before fn returns, so fn may kill it. Writes go in parallel, and so do calls
// of fn.
func (p *Proxy) OnWrite(fn func(Step)) *Handle {
	return p.Add(Rule{Name: "on write", Match: Match{Func: Request.IsWrite}, Do: Notify(fn)})
}
