package packets

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// between is the time from an answer to the next question of the same stream, unless the stream says otherwise.
const between = 20 * time.Millisecond

const clock = "15:04:05.000"

// A Kind is how a stream asks.
type Kind string

// The kinds.
const (
	NewConnections Kind = "new connections" // HTTP, each request over a connection of its own
	KeptConnection Kind = "kept connection" // HTTP, one connection for as long as the server keeps it
	Datagrams      Kind = "datagrams"       // UDP with sequence numbers, from one port
)

// A Stream asks one address, and knows who may answer.
type Stream struct {
	Name    string // of what is asked, for people
	Kind    Kind
	Address string
	Right   func(pod string) bool
	// Pause is the time from an answer to the next question; 20 ms if zero.
	Pause time.Duration
}

func (s Stream) pause() time.Duration { return cmp.Or(s.Pause, between) }

// Load is streams at work.
type Load struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu     sync.Mutex
	over   bool
	counts []Count              // in the order of the streams
	last   []string             // who answered each stream last
	heard  map[string]time.Time // the last datagram of each pod
}

// A Count is what became of a stream's questions.
type Count struct {
	Stream Stream
	Asked  int
	Lost   []Loss
	// Dialed is how many connections it took, and Ended how those ended that the asker kept, but for those that it gave up itself,
	// as Go's client does on a machine that is busy.
	Dialed int
	Ended  []string
	// Longest is how long the slowest answer took: the kernel says again what got lost on the way, after a second at the earliest,
	// and nobody else notices.
	Longest time.Duration
}

// A Loss is a question that wasn't answered as it should have been.
type Loss struct {
	At, Asked time.Time
	Why       error
	// Before and After are who answered what the same stream asked just before and after it; empty if nobody did.
	Before, After string
}

func (l Loss) String() string {
	return fmt.Sprintf("%s asked at %s: %v; %q answered the one before, %q the one after", l.At.Format(clock), l.Asked.Format(clock), l.Why,
		l.Before, l.After)
}

// Start lets streams ask until End.
func Start(ctx context.Context, from Dialer, streams ...Stream) *Load {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &Load{stop: stop, counts: make([]Count, len(streams)), last: make([]string, len(streams)), heard: map[string]time.Time{}}
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

// End stops all streams; what they asked last is answered, or counted as lost. Each asks once more then: it's known of each loss who
// answered after it.
func (l *Load) End() {
	l.stop()
	l.done.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}

// Take returns what was counted since the last time, and counts anew. What was lost just now is left for the next time, when it's known
// who answers after it.
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

// Heard is when each pod answered a datagram last.
func (l *Load) Heard() map[string]time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.heard)
}

// counting is a Dialer that tells of each connection, and of how it ends.
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
		return fmt.Errorf("%s is answered by %q", s.Address, pod)
	}
	return err
}

// An asker asks the same address again and again, in one of the ways.
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

// keepConnection leaves it to the server to end the connection, as a pod does that is told to end.
func (s Stream) keepConnection(from Dialer) asker {
	transport := &http.Transport{DialContext: from.Dial, MaxConnsPerHost: 1}
	client := &http.Client{Transport: transport, Timeout: Patience}
	return asker{
		func(ctx context.Context) (string, error) { return get(ctx, client, s.Address) },
		transport.CloseIdleConnections,
	}
}

// sendDatagrams keeps its port, so that the kernel keeps what it remembers of the flow, too.
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
