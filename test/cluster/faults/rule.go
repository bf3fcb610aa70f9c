package faults

import (
	"net/http"
	"slices"
	"sync"
)

// Rule is a fault that is injected into some requests.
type Rule struct {
	// Name appears in the log and in errors. It is optional.
	Name string
	Match
	// Skip is the number of first matches that the rule leaves alone.
	Skip int
	// Times is the number of matches on which the rule acts; 0 means all.
	Times int
	// Do is the rule's action. Nil passes the request on: such a rule only counts, and can be waited for.
	Do Action
}

// rules is the ordered list of a proxy's rules.
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

// apply lets the first matching rule act. Its next function applies the rules after it.
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

// Add appends a rule. It acts on requests that arrive from now on.
func (p *Proxy) Add(rule Rule) *Handle {
	return p.rules.add(rule, newHandle(rule.Name))
}

// Pause holds matching requests before they are made, until the Hold is released.
func (p *Proxy) Pause(match Match) *Hold {
	handle := newHandle("pause")
	p.rules.add(Rule{Name: "pause", Match: match, Do: gate(handle.removed)}, handle)
	return &Hold{Handle: handle}
}

// OnWrite calls fn before and after each write: before it is made, and after it is made but not yet answered. The
// client gets no answer before fn returns, so fn may kill it. Writes run concurrently, and so do calls of fn.
func (p *Proxy) OnWrite(fn func(Step)) *Handle {
	return p.Add(Rule{Name: "on write", Match: Match{Func: Request.IsWrite}, Do: Notify(fn)})
}
