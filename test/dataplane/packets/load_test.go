package packets

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// here dials from this machine.
type here struct{}

func (here) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// pod is a server on loopback that can answer under another name.
type pod struct {
	name atomic.Value
	http *http.Server
	udp  net.PacketConn
	at   string
}

func newPod(t *testing.T, name string) *pod {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &pod{at: listener.Addr().String()}
	p.name.Store(name)
	if p.udp, err = net.ListenPacket("udp", p.at); err != nil {
		t.Fatal(err)
	}
	p.http = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, p.name.Load())
	})}
	go func() { _ = p.http.Serve(listener) }()
	go p.echo()
	t.Cleanup(p.end)
	return p
}

func (p *pod) echo() {
	buffer := make([]byte, 100)
	for {
		n, from, err := p.udp.ReadFrom(buffer)
		if err != nil {
			return
		}
		_, _ = p.udp.WriteTo(fmt.Appendf(nil, "%s %s", p.name.Load(), buffer[:n]), from)
	}
}

func (p *pod) end() {
	_ = p.http.Close()
	_ = p.udp.Close()
}

func TestLoadCounts(t *testing.T) {
	for _, kind := range []Kind{NewConnections, KeptConnection, Datagrams} {
		t.Run(string(kind), func(t *testing.T) {
			p := newPod(t, "web-1")
			l := Start(t.Context(), here{},
				Stream{Name: "web", Kind: kind, Address: p.at, Right: func(pod string) bool { return pod == "web-1" }})
			defer l.End()
			answered := await(t, l, func(c Count) bool { return c.Asked >= 3 })
			if len(answered.Lost) > 0 {
				t.Errorf("answered requests count as lost: %v", answered.Lost)
			}
			p.name.Store("other")
			await(t, l, func(c Count) bool { return len(c.Lost) > 0 })
			p.name.Store("web-1")
			l.Take()
			await(t, l, func(c Count) bool { return c.Asked >= 3 && len(c.Lost) == 0 })
			p.end()
			await(t, l, func(c Count) bool { return len(c.Lost) > 0 })
		})
	}
}

// TestEachLossHasTheNextAnswer checks that every loss has the pod that answered next, even if counts are taken or the
// load ends right after the loss.
func TestEachLossHasTheNextAnswer(t *testing.T) {
	p := newPod(t, "web-1")
	const lost = 2 // the number of the question whose answer is wrong
	asked, seen := make(chan int), make(chan struct{})
	number := 0
	l := Start(t.Context(), here{}, Stream{Name: "web", Kind: Datagrams, Address: p.at, Right: func(string) bool {
		number++
		if number <= lost+2 {
			asked <- number
			<-seen
		}
		return number != lost
	}})
	var all []Count
	for n := range asked {
		all = append(all, l.Take()[0])
		if n == lost+2 {
			l.stop()
		}
		seen <- struct{}{}
		if n == lost+2 {
			break
		}
	}
	l.End()
	all = append(all, l.Take()[0])
	sum := Count{}
	for _, count := range all {
		sum.Asked += count.Asked
		sum.Lost = append(sum.Lost, count.Lost...)
	}
	if len(sum.Lost) != 1 || sum.Lost[0].Before != "web-1" || sum.Lost[0].After != "web-1" {
		t.Errorf("losses: %v", sum.Lost)
	}
	if sum.Asked != number {
		t.Errorf("%d requests were sent, but %d are counted", number, sum.Asked)
	}
}

// TestPendingRequestIsLostAtTheEnd checks that a request without an answer counts as lost, and that one more is sent.
func TestPendingRequestIsLostAtTheEnd(t *testing.T) {
	p := newPod(t, "web-1")
	asked, seen := make(chan struct{}), make(chan struct{})
	number := 0
	l := Start(t.Context(), here{}, Stream{Name: "web", Kind: Datagrams, Address: p.at, Right: func(string) bool {
		if number++; number == 2 {
			close(asked)
			<-seen
		}
		return number != 2
	}})
	<-asked
	l.stop()
	close(seen)
	l.End()
	if count := l.Take()[0]; count.Asked != 3 || len(count.Lost) != 1 || count.Lost[0].After != "web-1" {
		t.Errorf("%d asked, lost: %v", count.Asked, count.Lost)
	}
}

// TestAwaitAnswers checks that a slow answer is waited for.
func TestAwaitAnswers(t *testing.T) {
	p := newPod(t, "web")
	asked := 0
	l := Start(t.Context(), here{}, Stream{Name: "web", Kind: Datagrams, Address: p.at, Right: func(string) bool {
		if asked++; asked == 1 {
			time.Sleep(20 * between)
		}
		return true
	}})
	defer l.End()
	l.AwaitAnswers()
	if count := l.Take()[0]; count.Asked == 0 {
		t.Error("no request is answered")
	}
}

// await takes counts until one is as wanted.
func await(t *testing.T, l *Load, good func(Count) bool) Count {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		time.Sleep(10 * between)
		if count := l.Take()[0]; good(count) {
			return count
		}
	}
	t.Fatal("no such count within a minute")
	return Count{}
}
