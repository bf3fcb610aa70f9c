package packets

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// between is the default time from an answer to the next request of the same stream.
const between = 20 * time.Millisecond

const clock = "15:04:05.000"

// Kind is a way to send requests.
type Kind string

// The kinds.
const (
	NewConnections Kind = "new connections" // HTTP, each request over a new connection
	KeptConnection Kind = "kept connection" // HTTP, one connection until the server closes it
	Datagrams      Kind = "datagrams"       // UDP with sequence numbers, from one port
)

// Stream sends requests to one address, and knows which pods may answer.
type Stream struct {
	Name    string // name of the target, for messages
	Kind    Kind
	Address string
	Right   func(pod string) bool
	// Pause is the time from an answer to the next request; 20 ms if zero.
	Pause time.Duration
}

func (s Stream) pause() time.Duration { return cmp.Or(s.Pause, between) }

// Load runs streams.
type Load struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu     sync.Mutex
	over   bool
	counts []Count              // counts in the order of the streams
	last   []string             // the pod that last answered each stream
	heard  map[string]time.Time // time of each pod's last datagram
}

// Count holds the results of a stream's requests.
type Count struct {
	Stream Stream
	Asked  int
	Lost   []Loss
	// Dialed is the number of connections. Ended says how kept connections ended, except those that the client gave up
	// itself, as Go's client does on a busy machine.
	Dialed int
	Ended  []string
	// Longest is the time of the slowest answer. It reveals lost packets that the kernel sends again, after a second at
	// the earliest.
	Longest time.Duration
}

// Loss is a request with a wrong answer or none.
type Loss struct {
	At, Asked time.Time
	Why       error
	// Before and After are the pods that answered the same stream's requests just before and after; empty if none did.
	Before, After string
}

func (l Loss) String() string {
	return fmt.Sprintf("%s asked at %s: %v; %q answered the one before, %q the one after", l.At.Format(clock),
		l.Asked.Format(clock), l.Why,
		l.Before, l.After)
}

// Start runs streams until End.
func Start(ctx context.Context, from Dialer, streams ...Stream) *Load {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &Load{stop: stop, counts: make([]Count, len(streams)), last: make([]string, len(streams)),
		heard: map[string]time.Time{}}
	for i, stream := range streams {
		l.counts[i].Stream = stream
		l.done.Go(func() {
			asker := stream.asker(counting{from, func() { l.dialed(i) }, func(how string) { l.ended(i, how) }})
			defer asker.close()
			for last := false; !last; {
				last = ctx.Err() != nil
				began := time.Now()
				pod, err := asker.ask(context.WithoutCancel(ctx))
				l.note(i, began, pod, stream.judge(pod, err))
				time.Sleep(stream.pause())
			}
		})
	}
	return l
}

// End stops all streams. Their last requests are answered, or counted as lost. Each stream then sends one more request,
// so that the pod that answered after a loss is known.
func (l *Load) End() {
	l.stop()
	l.done.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}

// AwaitAnswers waits until each stream has an answer since the last Take, for at most twice Patience: a stream that has
// just lost a request asks again only after Patience.
func (l *Load) AwaitAnswers() {
	for end := time.Now().Add(2 * Patience); time.Now().Before(end) && !l.allAnswered(); {
		time.Sleep(between)
	}
}

func (l *Load) allAnswered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !slices.ContainsFunc(l.counts, func(c Count) bool { return c.Asked == len(c.Lost) })
}

// Take returns the counts since the last call, and resets them. A loss without a later answer is left for the next
// call.
func (l *Load) Take() []Count {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := make([]Count, len(l.counts))
	for i, count := range l.counts {
		left := Count{Stream: count.Stream}
		if last := len(count.Lost) - 1; !l.over && last >= 0 && count.Lost[last].After == "" {
			left.Asked, left.Lost = 1, count.Lost[last:]
			count.Asked, count.Lost = count.Asked-1, count.Lost[:last:last]
		}
		taken[i], l.counts[i] = count, left
	}
	return taken
}

// Heard returns the time of each pod's last answer to a datagram.
func (l *Load) Heard() map[string]time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.heard)
}

// counting is a Dialer that reports each connection, and how it ends.
type counting struct {
	Dialer
	dialed func()
	ended  func(string)
}

func (c counting) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	c.dialed()
	conn, err := c.Dialer.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return observed{conn, c.ended}, nil
}

type observed struct {
	net.Conn
	ended func(string)
}

func (o observed) Read(into []byte) (int, error) {
	n, err := o.Conn.Read(into)
	if err != nil {
		o.ended(fmt.Sprintf("%s from %s: %v", time.Now().Format(clock), o.LocalAddr(), err))
	}
	return n, err
}

func (l *Load) dialed(i int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[i].Dialed++
}

func (l *Load) ended(i int, how string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts[i].Stream.Kind == KeptConnection {
		l.counts[i].Ended = append(l.counts[i].Ended, how)
	}
}

func (l *Load) note(i int, began time.Time, pod string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	count := &l.counts[i]
	count.Asked++
	count.Longest = max(count.Longest, time.Since(began))
	if pod != "" && count.Stream.Kind == Datagrams {
		l.heard[pod] = time.Now()
	}
	if err != nil {
		count.Lost = append(count.Lost, Loss{At: time.Now(), Asked: began, Why: err, Before: l.last[i]})
		return
	}
	l.last[i] = pod
	for j := range count.Lost {
		if count.Lost[j].After == "" {
			count.Lost[j].After = pod
		}
	}
}

func (s Stream) judge(pod string, err error) error {
	if err == nil && !s.Right(pod) {
		return fmt.Errorf("at %s, pod %q answers", s.Address, pod)
	}
	return err
}

// asker sends requests to one address in one way.
type asker struct {
	ask   func(context.Context) (string, error)
	close func()
}

func (s Stream) asker(from Dialer) asker {
	switch s.Kind {
	case KeptConnection:
		return s.keepConnection(from)
	case Datagrams:
		return s.sendDatagrams(from)
	default:
		return asker{func(ctx context.Context) (string, error) { return HTTP(ctx, from, s.Address) }, func() {}}
	}
}

// keepConnection lets the server close the connection, as a pod does that is told to end.
func (s Stream) keepConnection(from Dialer) asker {
	transport := &http.Transport{DialContext: from.Dial, MaxConnsPerHost: 1}
	client := &http.Client{Transport: transport, Timeout: Patience}
	return asker{
		func(ctx context.Context) (string, error) { return get(ctx, client, s.Address) },
		transport.CloseIdleConnections,
	}
}

// sendDatagrams keeps its port, so that the kernel keeps the flow's entry, too.
func (s Stream) sendDatagrams(from Dialer) asker {
	var conn net.Conn
	number := 0
	ask := func(ctx context.Context) (pod string, err error) {
		if conn == nil {
			if conn, err = from.Dial(ctx, "udp", s.Address); err != nil {
				return "", err
			}
		}
		number++
		return echo(conn, strconv.Itoa(number))
	}
	return asker{ask, func() {
		if conn != nil {
			_ = conn.Close()
		}
	}}
}
