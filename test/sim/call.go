package sim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/test/sim/api"
)

// call is a request that is on its way to the server, or whose answer is on its way back.
type call struct {
	*api.Call
	from *process
	part string // the part of the process that asks: ofGateways, or empty for the lines of muxes and backends
	name string
	// weight makes it more or less probable that the request arrives next; 0 until it is drawn.
	weight int
	// done is true once the server has handled the request. err is its result.
	done     bool
	err      error
	answered chan struct{}
}

// reads returns whether the request only reads.
func (c *call) reads() bool { return c.Verb == "get" || c.Verb == "list" }

// ask returns a function that passes requests of a part of the process to the scheduler, and waits for the answers.
func (p *process) ask(part string) func(*api.Call) error {
	return func(request *api.Call) error { return p.send(part, request) }
}

func (p *process) send(part string, request *api.Call) error {
	c := &call{Call: request, from: p, part: part, answered: make(chan struct{})}
	c.name = fmt.Sprintf("%s%s: %s %s", p.name, part, request.Verb, request.Kind)
	if part != "" && request.Namespace != "" {
		c.name += " of " + request.Namespace
	}
	if request.Object != nil {
		c.name += " " + client.ObjectKeyFromObject(request.Object).String()
	}
	if request.DryRun {
		c.name += ", a dry run"
	}
	s := p.sim
	s.mu.Lock()
	if p.dead {
		s.mu.Unlock()
		return context.Canceled
	}
	s.calls = append(s.calls, c)
	s.mu.Unlock()
	<-c.answered
	return c.err
}

// underway returns the requests that the server has handled or, with done false, hasn't handled yet. They are sorted.
func (s *Sim) underway(done bool) []*call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*call
	for _, c := range s.calls {
		if c.done == done {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b *call) int {
		if a.name != b.name {
			return compare(a.name, b.name)
		}
		return compare(string(a.Body), string(b.Body))
	})
	return list
}

// isSlow returns whether a slow write is on its way.
func (s *Sim) isSlow() bool {
	return s.habits.slowWrites > 0 && slices.ContainsFunc(s.underway(false), func(c *call) bool { return c.weight == 1 })
}

// arrive lets the server handle a request.
func (s *Sim) arrive(c *call) {
	s.server.By = c.from.name + c.part
	if c.err = s.refuse(c); c.err == nil {
		c.err = c.Run()
	}
	c.done = true
	s.server.By = ""
	if c.part != "" {
		return // what the lines of muxes and backends know doesn't change
	}
	if c.Object != nil && (c.Verb == "get" || c.Kind == api.ConfigMaps && c.err == nil) {
		s.learn(c)
	}
	if c.err == nil && c.Object != nil && c.Verb != "delete" && !c.reads() && !c.DryRun {
		c.from.wrote[string(c.Kind)+" "+
			client.ObjectKeyFromObject(c.Object).String()] = c.Object.DeepCopyObject().(client.Object)
	}
}

// learn stores the result of a live read, and a ledger that was written. If the answer gets lost, the process reads
// again.
func (s *Sim) learn(c *call) {
	key := client.ObjectKeyFromObject(c.Object)
	switch c.Kind {
	case api.Services:
		if c.err == nil {
			c.from.learnt[key] = c.Object.DeepCopyObject().(*corev1.Service)
		} else {
			delete(c.from.learnt, key)
		}
	case api.ConfigMaps:
		delete(c.from.read, key)
		if c.err == nil && c.Verb != "delete" {
			c.from.read[key] = c.Object.DeepCopyObject().(*corev1.ConfigMap)
		}
	}
}

// answer returns the result to the process that asked.
func (s *Sim) answer(c *call) {
	s.mu.Lock()
	s.calls = slices.DeleteFunc(s.calls, func(other *call) bool { return other == c })
	s.mu.Unlock()
	close(c.answered)
}

// fault is a failure of a request. done is true if the server handles the request before the failure.
type fault struct {
	name string
	done bool
	err  func(c *call) error
}

func faults() []fault {
	resource := func(c *call) string { return c.Kind.Resource().Resource }
	busy := func(*call) error { return apierrors.NewTooManyRequests("busy", 1) }
	broken := func(*call) error { return apierrors.NewInternalError(errors.New("etcdserver: leader changed")) }
	slow := func(c *call) error {
		return apierrors.NewTimeoutError(fmt.Sprintf("request did not complete: %s", resource(c)), 1)
	}
	cut := func(*call) error { return errors.New("read tcp: connection reset by peer") }
	conflict := func(c *call) error {
		name := ""
		if c.Object != nil {
			name = c.Object.GetName()
		}
		return apierrors.NewConflict(c.Kind.Resource(), name, errors.New("the object has been modified"))
	}
	gone := func(*call) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure,
			Code:   http.StatusServiceUnavailable,
			Reason: metav1.StatusReasonServiceUnavailable, Message: "apiserver is shutting down"}}
	}
	return []fault{
		{"429", false, busy}, {"409", false, conflict}, {"503", false, gone},
		{"500", false, broken}, {"500 though done", true, broken},
		{"timeout", false, slow}, {"timeout though done", true, slow},
		{"cut off", false, cut}, {"cut off though done", true, cut},
	}
}

// fail lets a request fail.
func (s *Sim) fail(c *call, f fault) {
	if f.done {
		s.arrive(c)
	}
	c.err = f.err(c)
	if f.done && c.part == "" { // the process never sees the answer's object
		delete(c.from.wrote, string(c.Kind)+" "+client.ObjectKeyFromObject(c.Object).String())
	}
	s.answer(c)
}
