package foreign

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// ask returns the answer that a client outside gets at a URL.
func (w *world) ask(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := w.Outside().HTTP().Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// answers waits until each channel answers a client outside at the address it shows.
func (w *world) answers(t *testing.T, channels ...string) {
	t.Helper()
	for _, name := range channels {
		url := w.url(t, name)
		cluster.Eventually(t, name+" answers at "+url, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second) // packets to a new port may be lost: retry
			defer cancel()
			said, err := w.ask(ctx, url)
			if err == nil && said != name {
				t.Fatalf("at %s, the address of %s, %q answers", url, name, said)
			}
			return err
		})
	}
}

// stream is a set of clients outside that send requests to channels without pause, each over a new connection.
type stream struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu    sync.Mutex
	right map[string]int
	wrong []string
}

// stream starts a stream to channels that answer already.
func (w *world) stream(t *testing.T, channels ...string) *stream {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	s := &stream{stop: stop, right: map[string]int{}}
	for _, name := range channels {
		url := w.url(t, name)
		s.done.Go(func() {
			for ctx.Err() == nil {
				said, err := w.ask(context.WithoutCancel(ctx), url)
				s.note(name, said, err)
				time.Sleep(40 * time.Millisecond)
			}
		})
	}
	t.Cleanup(s.end)
	return s
}

func (s *stream) note(name, said string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || said != name {
		s.wrong = append(s.wrong, fmt.Sprintf("%s: %q, %v", name, said, err))
		return
	}
	s.right[name]++
}

func (s *stream) end() {
	s.stop()
	s.done.Wait()
}

// check ends the stream, and checks that each channel always answered, and with its own name.
func (s *stream) check(t *testing.T, channels ...string) {
	t.Helper()
	s.end()
	for _, name := range channels {
		if s.right[name] == 0 {
			t.Errorf("%s was never answered", name)
		}
	}
	if len(s.wrong) > 0 {
		t.Errorf("%d answers were wrong, %v right; the first wrong ones: %q", len(s.wrong), s.right,
			s.wrong[:min(3, len(s.wrong))])
	}
}
