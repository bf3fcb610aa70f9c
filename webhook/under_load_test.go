package webhook

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// load runs callers that send requests without a pause, over kept and new connections, HTTP/1.1 and HTTP/2.
type load struct {
	callers sync.WaitGroup
	over    chan struct{}
	asked   atomic.Int64
	failed  atomic.Int64
	first   atomic.Pointer[error]
}

func (r *running) load(t *testing.T) *load {
	t.Helper()
	l := &load{over: make(chan struct{})}
	review := body(t, request(t, nil, channel(nil)))
	for i := range 8 {
		client := caller(r.authority.Pool(), i%2 == 0, i%4 < 2)
		l.callers.Go(func() {
			defer client.CloseIdleConnections()
			for {
				select {
				case <-l.over:
					return
				default:
				}
				l.asked.Add(1)
				if err := r.ask(client, bytes.NewReader(review)); err != nil {
					l.failed.Add(1)
					l.first.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	return l
}

// end stops the callers, and returns the number of requests. Each must have been answered.
func (l *load) end(t *testing.T) int64 {
	t.Helper()
	close(l.over)
	l.callers.Wait()
	if failed := l.failed.Load(); failed > 0 {
		t.Errorf("%d of %d requests failed, first: %v", failed, l.asked.Load(), *l.first.Load())
	}
	return l.asked.Load()
}

func TestNoRequestFailsWhileCertificatesAreSwapped(t *testing.T) {
	r := start(t, withCertificate(t))
	r.awaitReady(t, http.StatusOK)
	load := r.load(t)
	const swaps = 100
	expiry := time.Now().Add(2 * time.Hour).Truncate(time.Second)
	for range swaps {
		expiry = expiry.Add(time.Second)
		r.volume.Put(t, r.authority.Pair(t, expiry))
		for deadline := time.Now().Add(10 * time.Second); !r.files.NotAfter().Equal(expiry); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("a new pair isn't served")
			}
		}
	}
	t.Logf("%d requests during %d swaps", load.end(t), swaps)
	r.end(t)
}

// slow is a body whose second half is sent when the test closes the channel now.
type slow struct {
	first, second io.Reader
	now           chan struct{}
}

func slowly(body []byte) *slow {
	half := len(body) / 2
	return &slow{bytes.NewReader(body[:half]), bytes.NewReader(body[half:]), make(chan struct{})}
}

func (s *slow) Read(p []byte) (int, error) {
	if n, err := s.first.Read(p); !errors.Is(err, io.EOF) {
		return n, err
	}
	<-s.now
	return s.second.Read(p)
}

func TestRolloutFailsNoReview(t *testing.T) {
	r := start(t, func(r *running, options *Options) {
		withCertificate(t)(r, options)
		r.release = make(chan struct{})
	})
	r.awaitReady(t, http.StatusOK)
	bodies, underWay := r.begin(t, 6)
	load := r.load(t)

	r.stop()
	r.awaitReady(t, http.StatusServiceUnavailable)
	if code, _ := r.probe(t, HealthPath); code != http.StatusOK {
		t.Errorf("/healthz returns %d while draining: a kubelet would kill the pod", code)
	}
	if !r.saysGoodbye(t) {
		t.Error("answers don't ask callers to open a new connection, which would go to another pod")
	}
	time.Sleep(500 * time.Millisecond)
	asked := load.end(t) // from now on no endpoint leads to this process
	close(r.release)
	r.awaitClosed(t)

	for _, body := range bodies {
		close(body.now)
	}
	underWay.Wait()
	r.end(t)
	t.Logf("%d requests around the signal, %d under way at the end", asked, len(bodies))
}

// saysGoodbye says that an answer closes its connection.
func (r *running) saysGoodbye(t *testing.T) bool {
	t.Helper()
	client := caller(r.authority.Pool(), false, false)
	defer client.CloseIdleConnections()
	response, err := client.Post("https://"+r.admission.listener.Addr().String()+Path, "application/json",
		bytes.NewReader(body(t, request(t, nil, channel(nil)))))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.Close
}

// begin sends the first halves of valid reviews. Each must be allowed once its second half is sent.
func (r *running) begin(t *testing.T, count int) ([]*slow, *sync.WaitGroup) {
	t.Helper()
	var bodies []*slow
	underWay := &sync.WaitGroup{}
	for i := range count {
		body := slowly(sized(t, 10<<10))
		bodies = append(bodies, body)
		underWay.Go(func() {
			client := caller(r.authority.Pool(), false, i%2 == 0)
			defer client.CloseIdleConnections()
			if err := r.ask(client, body); err != nil {
				t.Errorf("an open review failed: %v", err)
			}
		})
	}
	r.awaitInside(t, int64(count))
	return bodies, underWay
}

// awaitClosed waits until new connections are refused.
func (r *running) awaitClosed(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("tcp", r.admission.listener.Addr().String())
		if err != nil {
			return
		}
		conn.Close()
		if time.Now().After(deadline) {
			t.Fatal("new connections are still accepted")
		}
	}
}

func TestEndlessReviewDoesNotBlockTheEnd(t *testing.T) {
	r := start(t, func(r *running, options *Options) {
		withCertificate(t)(r, options)
		options.DrainTimeout = 50 * time.Millisecond
	})
	r.awaitReady(t, http.StatusOK)
	body := slowly(sized(t, 10<<10))
	gone := make(chan error, 1)
	client := caller(r.authority.Pool(), true, false)
	go func() { gone <- r.ask(client, body) }()
	r.awaitInside(t, 1)
	r.end(t)
	close(body.now)
	if err := <-gone; err == nil {
		t.Error("the endless review ended in time")
	}
	if !bytes.Contains([]byte(r.logs.String()), []byte("--drain-timeout")) {
		t.Errorf("the cut isn't logged: %s", r.logs)
	}
}

// TestSlowLargeBodiesDoNotBlockOthers sends the first halves of many large bodies. Other reviews are judged meanwhile.
// Then the second halves follow, and all these reviews are judged, too.
func TestSlowLargeBodiesDoNotBlockOthers(t *testing.T) {
	r := start(t, withCertificate(t))
	r.awaitReady(t, http.StatusOK)
	client := caller(r.authority.Pool(), false, true)
	defer client.CloseIdleConnections()
	var large sync.WaitGroup
	const slowBodies = 16
	var bodies []*slow
	answered := make(chan struct{}, slowBodies)
	for range slowBodies {
		body := slowly(sized(t, 1<<20))
		bodies = append(bodies, body)
		large.Go(func() {
			if err := r.ask(client, body); err != nil {
				t.Errorf("a slow review failed: %v", err)
			}
			answered <- struct{}{}
		})
	}
	r.awaitInside(t, slowBodies)
	for _, size := range []int{10, 1 << 20, 3 << 20} {
		if err := r.ask(client, bytes.NewReader(sized(t, size))); err != nil {
			t.Errorf("a review of %d bytes: %v", size, err)
		}
	}
	for _, body := range bodies { // one after the other: all at once would exceed the memory
		close(body.now)
		<-answered
	}
	large.Wait()
	r.end(t)
}
