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
	// maxMemory bounds what all requests together hold, as budget counts it. The chart's memory limit is more than four
	// times that: connections, predictions and garbage need the rest.
	maxMemory = 56 << 20
	// requestWeight stands for a request's goroutine, stream and header.
	requestWeight = 16 << 10
	// chunkSize is the step in which a large body takes memory. A smaller body takes its memory at once: until the webhook
	// reads it, it fills the connection's buffers. Bytes of a body count twice, because buffers grow by doubling.
	chunkSize   = streamWindow
	bodyBuffers = 2
	// A request for largeWeight or more leaves reserve free, so that reviews of usual size don't wait for a large one to be
	// decoded.
	largeWeight = 1 << 20
	reserve     = 8 << 20
	// maxWait is below the 5 s that the chart has API servers wait, so that the answer 503 still reaches them.
	maxWait = 4 * time.Second
	// A request that waits holds up to streamWindow bytes that the webhook hasn't read, and that no budget counts.
	// So few wait: maxWaiting in all, maxWaitingOfSender from one address.
	maxWaiting         = 256
	maxWaitingOfSender = 64
)

// budget bounds the memory of all requests, and divides it between senders. A sender is an IP address: API servers have
// few of them, and a pod has one.
//
//	a request begins      takes requestWeight, and what its body takes up to chunkSize
//	a large body arrives  takes each further chunkSize
//	it is decoded         takes what decodeWeight says of the body
//	it is answered        gives all of it back
//
// While the budget is used up, requests wait. The sender that holds least gets memory first. For a sender that holds less
// than another, the budget cuts off requests of the sender that holds most, if their bodies are still arriving. So a
// sender that stalls its bodies loses them to others, and one that sends many requests waits for its own.
type budget struct {
	size int64
	wait time.Duration

	mu      sync.Mutex
	held    int64
	senders map[string]*sender
	waiters []*waiter // in the order of their arrival

	reported atomic.Bool // a refusal was logged since the budget was last unused
}

type sender struct {
	held    int64
	waiting int
	loans   map[*loan]bool
}

// loan is what one request holds of the budget.
type loan struct {
	budget *budget
	sender *sender
	from   string
	held   int64
	// interrupt ends the reading of the body. It is nil before and after that.
	interrupt func()
	isCut     bool
}

// waiter is a request that waits for more memory.
type waiter struct {
	loan   *loan
	weight int64
	done   chan bool // true once the loan has the memory, false once it is cut off
}

func newBudget() *budget {
	return &budget{size: maxMemory, wait: maxWait, senders: map[string]*sender{}}
}

// open begins the loan of a request from an address. The request must give it back.
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

// take adds to the loan, and waits for that if it must.
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

// request puts a waiter in line. It returns nil if the sender has too many there.
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
	b.serve()
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

// lastOfLongest returns the waiter that came last of those whose sender has most in line.
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

// serve gives memory to waiters, to the sender that holds least first. For a waiter that finds none, it cuts requests off.
// Small waiters overtake a large one.
func (b *budget) serve() {
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

// lightest returns the first waiter whose sender holds least, large ones only if they count too.
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

// makeRoom cuts off requests of the sender that holds most, unless that is the waiter's own, or will be.
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
			missing -= l.held // it is about to come back
		}
	}
	for missing > 0 {
		l := largest.largestReading()
		if l == nil {
			return
		}
		missing -= l.held
		b.cut(l)
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

// cut ends the reading of a request's body, and its wait for more memory.
func (b *budget) cut(l *loan) {
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

// beginReading lets the budget cut the request off. The interrupt must not call the budget.
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
	b.serve()
}

func tooMany() *fault {
	return faultf(http.StatusServiceUnavailable, "reviews under way use all memory that is set aside for them: try again")
}

// shouldReport is true for the first refusal since the budget was last unused.
func (b *budget) shouldReport(fault *fault) bool {
	return fault.code == http.StatusServiceUnavailable && b.reported.CompareAndSwap(false, true)
}
