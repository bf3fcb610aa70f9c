package packets

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// between is the time from an answer to the next question of the same stream.
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
}

// Load is streams at work.
type Load struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu     sync.Mutex
	counts []Count              // in the order of the streams
	heard  map[string]time.Time // the last datagram of each pod
}

// A Count is what became of a stream's questions.
type Count struct {
	Stream Stream
	Asked  int
	Lost   []string // each with when and why
}

// Start lets streams ask until End.
func Start(ctx context.Context, from Dialer, streams ...Stream) *Load {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &Load{stop: stop, counts: make([]Count, len(streams)), heard: map[string]time.Time{}}
	for i, stream := range streams {
		l.counts[i].Stream = stream
		l.done.Go(func() {
			asker := stream.asker(from)
			defer asker.close()
			for ctx.Err() == nil {
				pod, err := asker.ask(context.WithoutCancel(ctx))
				l.note(i, pod, stream.judge(pod, err))
				time.Sleep(between)
			}
		})
	}
	return l
}

// End stops all streams; what they asked last is answered, or counted as lost.
func (l *Load) End() {
	l.stop()
	l.done.Wait()
}

// Take returns what was counted since the last time, and counts anew.
func (l *Load) Take() []Count {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := make([]Count, len(l.counts))
	for i, count := range l.counts {
		taken[i] = count
		l.counts[i] = Count{Stream: count.Stream}
	}
	return taken
}

// Heard is when each pod answered a datagram last.
func (l *Load) Heard() map[string]time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.heard)
}

func (l *Load) note(i int, pod string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[i].Asked++
	if pod != "" && l.counts[i].Stream.Kind == Datagrams {
		l.heard[pod] = time.Now()
	}
	if err != nil {
		l.counts[i].Lost = append(l.counts[i].Lost, fmt.Sprintf("%s %v", time.Now().Format(clock), err))
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
	client := &http.Client{Transport: transport, Timeout: patience}
	return asker{
		func(ctx context.Context) (string, error) { return get(ctx, client, s.Address) },
		transport.CloseIdleConnections,
	}
}

// sendDatagrams keeps its port, so that the kernel keeps what it remembers of the flow, too.
func (s Stream) sendDatagrams(from Dialer) asker {
	var conn net.Conn
	number, last := 0, "nobody"
	ask := func(ctx context.Context) (pod string, err error) {
		if conn == nil {
			if conn, err = from.Dial(ctx, "udp", s.Address); err != nil {
				return "", err
			}
		}
		number++
		began := time.Now()
		if pod, err = echo(conn, strconv.Itoa(number)); err != nil {
			return "", fmt.Errorf("%w; asked at %s, %s answered the one before", err, began.Format(clock), last)
		}
		last = pod
		return pod, nil
	}
	return asker{ask, func() {
		if conn != nil {
			_ = conn.Close()
		}
	}}
}
