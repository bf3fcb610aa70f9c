package webhook

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxMemory limits the memory of all requests together, as budget counts it. The chart's memory limit is more than
	// four times as much: connections, predictions and garbage need the rest.
	maxMemory = 56 << 20
	// requestWeight is the memory of a request's goroutine, stream and header.
	requestWeight = 16 << 10
	// chunkSize is the step in which a large body takes memory. A smaller body takes all of its memory when the request
	// begins: its bytes may be in the connection's buffers before the webhook reads them. Each byte of a body counts
	// twice (bodyBuffers), because buffers grow by doubling.
	chunkSize   = streamWindow
	bodyBuffers = 2
	// A request for largeWeight or more leaves reserve free, so that reviews of usual size don't wait until a large one
	// is decoded.
	largeWeight = 1 << 20
	reserve     = 8 << 20
	// maxWait is shorter than the 5 s for which API servers wait in the chart's configuration, so that the answer 503
	// still reaches them.
	maxWait = 4 * time.Second
	// A waiting request holds up to streamWindow bytes that aren't read yet and that the budget doesn't count. So the
	// number of waiting requests is limited: maxWaiting in all, maxWaitingOfSender from one address.
	maxWaiting         = 256
	maxWaitingOfSender = 64
)

// budget limits the memory of all requests, and divides it between senders. A sender is an IP address: API servers have
// few of them, and a pod has one.
//
//	a request begins      takes requestWeight, and the memory of its body up to chunkSize
//	a large body arrives  takes each further chunkSize
//	it is decoded         takes the decodeWeight of the body
//	it is answered        gives all of it back
//
// While the budget is used up, requests wait. The sender that holds least gets memory first. If a waiting sender will
// hold less than another one, the budget cuts off requests of the sender that holds most, if their bodies are still
// arriving. So a sender whose bodies stall loses memory to other senders. A sender of many requests waits until its own
// requests end.
type budget struct {
	size int64
	wait time.Duration

	mu      sync.Mutex
	held    int64
	senders map[string]*sender
	waiters []*waiter // in the order of their arrival

	reported atomic.Bool // true once a refusal was logged since the budget was last unused
}

type sender struct {
	held    int64
	waiting int
	loans   map[*loan]bool
}

// loan is the part of the budget that one request holds.
type loan struct {
	budget *budget
	sender *sender
	from   string
	held   int64
	// interrupt ends the reading of the body. It is nil except while the body is read.
	interrupt func()
	isCut     bool
}

// waiter is a request that waits for more memory.
type waiter struct {
	loan   *loan
	weight int64
	done   chan bool // gets true when the loan has the memory, and false when the loan is cut off or the queue is full
}

func newBudget() *budget {
	return &budget{size: maxMemory, wait: maxWait, senders: map[string]*sender{}}
}

// open starts the loan of a request from an address. The request must give it back.
func (b *budget) open(from string) *loan {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.senders[from]
	if s == nil {
		s = &sender{loans: map[*loan]bool{}}
		b.senders[from] = s
	}
	l := &loan{budget: b, sender: s, from: from}
	s.loans[l] = true
	return l
}

// take adds memory to the loan, and waits for it if necessary.
func (l *loan) take(ctx context.Context, weight int64) *fault {
	w := l.budget.request(l, weight)
	if w == nil {
		return tooMany()
	}
	timeout := time.NewTimer(l.budget.wait)
	defer timeout.Stop()
	select {
	case granted := <-w.done:
		if granted {
			return nil
		}
	case <-timeout.C:
	case <-ctx.Done():
	}
	l.budget.withdraw(w)
	return tooMany()
}

// request grants the memory at once, or adds a waiter to the queue. If the queue is too long, it refuses the newest
// waiter of the sender with most waiters. It returns nil if that is the new waiter.
func (b *budget) request(l *loan, weight int64) *waiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := &waiter{loan: l, weight: weight, done: make(chan bool, 1)}
	if len(b.waiters) == 0 && b.held+weight+reserve <= b.size {
		b.grant(w)
		return w
	}
	b.waiters = append(b.waiters, w)
	l.sender.waiting++
	b.grantWaiters()
	for len(b.waiters) > maxWaiting || l.sender.waiting > maxWaitingOfSender {
		last := b.lastOfLongest()
		b.remove(last)
		last.done <- false
		if last == w {
			return nil
		}
	}
	return w
}

// lastOfLongest returns the newest waiter of the sender with most waiters.
func (b *budget) lastOfLongest() *waiter {
	last := b.waiters[0]
	for _, w := range b.waiters {
		if w.loan.sender.waiting >= last.loan.sender.waiting {
			last = w
		}
	}
	return last
}

func (b *budget) withdraw(w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(w)
}

func (b *budget) remove(w *waiter) {
	if i := slices.Index(b.waiters, w); i >= 0 {
		b.waiters = slices.Delete(b.waiters, i, i+1)
		w.loan.sender.waiting--
	}
}

// grantWaiters gives memory to waiters, first to the sender that holds least. If there isn't enough memory for a
// waiter, it may cut off other requests (makeRoom). Small waiters overtake a large one.
func (b *budget) grantWaiters() {
	largeWaits := false
	for {
		w := b.lightest(!largeWaits)
		if w == nil {
			return
		}
		missing := b.held + w.weight - b.size
		if w.isLarge() {
			missing += reserve
		}
		switch {
		case missing <= 0:
			b.grant(w)
		case w.isLarge():
			b.makeRoom(w, missing)
			largeWaits = true
		default:
			b.makeRoom(w, missing)
			return
		}
	}
}

func (w *waiter) isLarge() bool { return w.weight >= largeWeight }

// lightest returns the first waiter of the sender that holds least. It considers large waiters only if largeToo is
// true.
func (b *budget) lightest(largeToo bool) *waiter {
	var lightest *waiter
	for _, w := range b.waiters {
		if (largeToo || !w.isLarge()) && (lightest == nil || w.loan.sender.held < lightest.loan.sender.held) {
			lightest = w
		}
	}
	return lightest
}

func (b *budget) grant(w *waiter) {
	b.held, w.loan.sender.held, w.loan.held = b.held+w.weight, w.loan.sender.held+w.weight, w.loan.held+w.weight
	b.remove(w)
	w.done <- true
}

// makeRoom cuts off requests of the sender that holds most. It does nothing if, with the new memory, the waiter's own
// sender would hold at least as much.
func (b *budget) makeRoom(w *waiter, missing int64) {
	largest := w.loan.sender
	for _, s := range b.senders {
		if s.held > largest.held {
			largest = s
		}
	}
	if largest.held <= w.loan.sender.held+w.weight {
		return
	}
	for l := range largest.loans {
		if l.isCut {
			missing -= l.held // about to be given back
		}
	}
	for missing > 0 {
		l := largest.largestReading()
		if l == nil {
			return
		}
		missing -= l.held
		b.cutOff(l)
	}
}

func (s *sender) largestReading() *loan {
	var largest *loan
	for l := range s.loans {
		if l.interrupt != nil && !l.isCut && (largest == nil || l.held > largest.held) {
			largest = l
		}
	}
	return largest
}

// cutOff ends the reading of a request's body, and its wait for more memory.
func (b *budget) cutOff(l *loan) {
	l.isCut = true
	l.interrupt()
	for _, w := range b.waiters {
		if w.loan == l {
			b.remove(w)
			w.done <- false
			return
		}
	}
}

// beginReading allows the budget to cut the request off by a call of interrupt, which must not call the budget.
func (l *loan) beginReading(interrupt func()) {
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	l.interrupt = interrupt
}

// endReading returns false if the budget has cut the request off.
func (l *loan) endReading() bool {
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	l.interrupt = nil
	return !l.isCut
}

func (l *loan) giveBack() {
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held, l.sender.held, l.held = b.held-l.held, l.sender.held-l.held, 0
	delete(l.sender.loans, l)
	if len(l.sender.loans) == 0 {
		delete(b.senders, l.from)
	}
	if b.held == 0 {
		b.reported.Store(false)
	}
	b.grantWaiters()
}

func tooMany() *fault {
	return faultf(http.StatusServiceUnavailable, "the reviews in progress use all memory set aside for them: try again")
}

// shouldReport returns true for the first refusal since the budget was last unused.
func (b *budget) shouldReport(fault *fault) bool {
	return fault.code == http.StatusServiceUnavailable && b.reported.CompareAndSwap(false, true)
}
