package webhook

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/test/long"
)

const (
	// memoryLimit is the chart's limit for a webhook pod: the kernel kills a pod that uses more.
	memoryLimit = 256 << 20
	// goMemoryLimit is the GOMEMLIMIT that the chart sets for memoryLimit.
	goMemoryLimit = "131072KiB"
	// podsOfAttack is the number of attacking addresses, connectionsOfPod the number of connections from each.
	podsOfAttack     = 8
	connectionsOfPod = 5
	// pauseOfAttack is the time between two requests of a stream. It leaves a processor to the webhook, because
	// attackers run on the same machine.
	pauseOfAttack = 2 * time.Second
	// mostRefused bounds the refused real reviews: at most one in so many, because the machine may stand still at
	// times.
	mostRefused = 20
)

// TestMemoryStaysBoundedUnderAttack attacks a webhook process from several addresses. Meanwhile another address sends
// reviews: the process answers all of them. The highest resident memory of the process stays below its limit,
// and in `make long`, where no other package takes processors from the garbage collector, below two thirds of it.
func TestMemoryStaysBoundedUnderAttack(t *testing.T) {
	for name, tc := range map[string]struct {
		body  []byte
		stall bool // send all bytes except the last
		extra http.Header
		// streams is the number of concurrent requests per connection. count is the number of requests that the attack
		// sends before the test ends; in `make long` three times as many.
		streams int
		count   int64
		// instead is set for an attack that only make long runs: it names the attack of make test that shows the same.
		instead string
	}{
		"stalled bodies of 64 KiB": {body: padded(t, 64<<10), stall: true, streams: 60, count: 1_000},
		"stalled bodies with large headers": {body: padded(t, 64<<10), stall: true, streams: 60, count: 1_000,
			extra: largeHeader()},
		"small bodies with many ports": {body: manyPorts(t, 64<<10), streams: 10, count: 300},
		"large bodies with many ports": {body: manyPorts(t, 7<<20), streams: 1, count: 20},
		"large bodies with long values": {body: padded(t, 7<<20), streams: 1, count: 20,
			instead: "large bodies with many ports"},
		"stalled large bodies": {body: padded(t, 7<<20), stall: true, streams: 10, count: 100},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.instead != "" {
				long.Only(t, tc.instead)
			}
			s := newServer(t, "GOMEMLIMIT="+goMemoryLimit)
			ctx, stop := context.WithCancel(t.Context())
			var sent atomic.Int64
			var attackers sync.WaitGroup
			callers := s.connect(t, "127.0.0.1", 4)
			var attacking []*http.Client
			for i := range podsOfAttack {
				attacking = append(attacking, s.connect(t, fmt.Sprintf("127.0.0.%d", 2+i), connectionsOfPod)...)
			}
			for _, client := range attacking {
				for range tc.streams {
					attackers.Go(func() { s.attack(ctx, client, tc.body, tc.stall, tc.extra, &sent) })
				}
			}
			count := tc.count
			if long.Runs() {
				count *= 3
			}
			s.reviewsUntil(t, callers, func() bool { return sent.Load() >= count })
			s.checkPeak(t)
			stop()
			attackers.Wait()
		})
	}
}

// TestMemoryStaysBoundedByConnections opens more connections than the webhook keeps, from several addresses, and sends
// nothing on them.
func TestMemoryStaysBoundedByConnections(t *testing.T) {
	s := newServer(t, "GOMEMLIMIT="+goMemoryLimit)
	var opened atomic.Int64
	var attackers sync.WaitGroup
	const connections = 4_000
	callers := s.connect(t, "127.0.0.1", 4)
	ctx, stop := context.WithCancel(t.Context())
	for i := range podsOfAttack {
		dialer := &tls.Dialer{NetDialer: dialerFrom(fmt.Sprintf("127.0.0.%d", 2+i)), Config: &tls.Config{
			RootCAs: s.pool, NextProtos: []string{"h2"},
		}}
		attackers.Go(func() {
			for range connections / podsOfAttack {
				opened.Add(1)
				conn, err := dialer.DialContext(ctx, "tcp", s.address)
				if err != nil {
					continue // the webhook refused the connection
				}
				defer conn.Close()
			}
			<-ctx.Done()
		})
	}
	s.reviewsUntil(t, callers, func() bool { return opened.Load() >= connections })
	s.checkPeak(t)
	stop()
	attackers.Wait()
}

// attack sends one request after the other until the context ends, and ignores the answers.
func (s *server) attack(ctx context.Context, client *http.Client, body []byte, stall bool, extra http.Header,
	sent *atomic.Int64) {
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		var reader io.Reader = bytes.NewReader(body)
		if stall {
			reader = &stalledBody{body: bytes.NewReader(body[:len(body)-1]), closed: make(chan struct{})}
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, reader)
		if err != nil {
			panic(err)
		}
		request.ContentLength = int64(len(body))
		request.Header = extra.Clone()
		if request.Header == nil {
			request.Header = http.Header{}
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		sent.Add(1)
		if err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
		time.Sleep(pauseOfAttack)
	}
}

// stalledBody returns its data and then blocks until it is closed. The client closes it when the answer arrives.
type stalledBody struct {
	body   *bytes.Reader
	closed chan struct{}
	once   sync.Once
}

func (b *stalledBody) Read(p []byte) (int, error) {
	if b.body.Len() == 0 {
		<-b.closed
		return 0, io.ErrUnexpectedEOF
	}
	return b.body.Read(p)
}

func (b *stalledBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// reviewsUntil sends reviews as an API server does, at least 100 of them, until the attack is over.
func (s *server) reviewsUntil(t *testing.T, clients []*http.Client, over func() bool) {
	t.Helper()
	body := review(t, channel(3))
	var asked, refused atomic.Int64
	var callers sync.WaitGroup
	for _, client := range clients {
		callers.Go(func() {
			for !t.Failed() && (asked.Load() < 100 || !over()) {
				if s.sendOrRefused(t, client, body) {
					refused.Add(1) // the machine was too busy to make room in time
					continue
				}
				asked.Add(1)
			}
		})
	}
	callers.Wait()
	t.Logf("%d reviews were answered; %d were refused, and sent again", asked.Load(), refused.Load())
	if refused.Load()*mostRefused > asked.Load() {
		t.Errorf("more than one review in %d was refused: a person's change fails for each", mostRefused)
	}
}

// sendOrRefused sends a review, and returns true if the webhook refused it for lack of memory. Any other failure fails
// the test.
func (s *server) sendOrRefused(t *testing.T, client *http.Client, body []byte) bool {
	response, err := client.Post(s.url, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Errorf("sending a review fails: %v", err)
		return false
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if response.StatusCode == http.StatusServiceUnavailable {
		return true
	}
	if err != nil || !bytes.Contains(text, []byte(`"allowed":true`)) {
		t.Errorf("the answer to a review is %d %s, %v", response.StatusCode, text, err)
	}
	return false
}

// checkPeak checks the process's peak resident memory, as the kernel counts it.
func (s *server) checkPeak(t *testing.T) {
	t.Helper()
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		t.Skip("NOT COVERED: /proc doesn't show the process's memory here:", err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		value, found := strings.CutPrefix(lines.Text(), "VmHWM:")
		if !found {
			continue
		}
		kib, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(value, "kB")))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("peak memory: %d MiB of %d", kib>>10, memoryLimit>>20)
		limit := memoryLimit
		if long.Runs() {
			limit = memoryLimit * 2 / 3
		}
		if kib<<10 > limit {
			t.Errorf("peak memory is %d MiB, want at most %d", kib>>10, limit>>20)
		}
		return
	}
	t.Fatal("/proc has no peak memory of the process")
}

// connect makes clients with a connection each. Each sends a request before the attack begins: handshakes have time
// limits, which a client could miss while attackers use the same machine.
func (s *server) connect(t *testing.T, address string, count int) []*http.Client {
	t.Helper()
	clients := make([]*http.Client, count)
	for i := range clients {
		clients[i] = s.from(address)
		t.Cleanup(clients[i].CloseIdleConnections)
		response, err := clients[i].Get(s.url) // the webhook refuses it: reviews are POSTs
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	return clients
}

// from returns a client that connects from the given address.
func (s *server) from(address string) *http.Client {
	protocols := &http.Protocols{}
	protocols.SetHTTP2(true)
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: s.pool}, Protocols: protocols, DialContext: dialerFrom(address).DialContext,
	}}
}

func dialerFrom(address string) *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: 30 * time.Second}
}

// padded returns a valid review of a size: an annotation fills it up.
func padded(t *testing.T, size int) []byte {
	t.Helper()
	svc := channel(1)
	least := len(review(t, svc))
	svc.Annotations["example.com/note"] = strings.Repeat("x", size-least-len(`"example.com/note":"",`))
	return review(t, svc)
}

// manyPorts returns a review of about the given size. Each port has two characters in JSON, and takes many times that
// once decoded.
func manyPorts(t *testing.T, size int) []byte {
	t.Helper()
	body := review(t, channel(1))
	before, after, found := bytes.Cut(body, []byte(`"ports":[`))
	if !found {
		t.Fatalf("no ports: %s", body)
	}
	ports := strings.Repeat("{},", (size-len(body))/3)
	return fmt.Appendf(nil, `%s"ports":[%s%s`, before, ports, after)
}

func largeHeader() http.Header {
	header := http.Header{}
	for i := range 150 {
		header.Set(fmt.Sprintf("X-%d", i), "1")
	}
	return header
}
