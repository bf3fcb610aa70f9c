package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap/zapcore"
)

// gated is a handler whose gate the test holds; nobody waits there for long.
type gated struct {
	*handler
	logs *bytes.Buffer
}

func newGated(t *testing.T) gated {
	t.Helper()
	logs := &bytes.Buffer{}
	gate := newGate()
	gate.wait = 10 * time.Millisecond
	return gated{&handler{
		lang: testLanguage(t), log: newLog(zapcore.InfoLevel, logs), metrics: newMetrics(prometheus.NewRegistry()), large: gate,
	}, logs}
}

// post announces a body of any length, or none with -1, and returns the code.
func (g gated) post(body io.Reader, announced int64) int {
	r := httptest.NewRequest(http.MethodPost, Path, body)
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = announced
	w := httptest.NewRecorder()
	g.recovering(g).ServeHTTP(w, r)
	return w.Code
}

func (g gated) fill(from chan struct{}) {
	for range cap(from) - len(from) {
		from <- struct{}{}
	}
}

func (g gated) empty(from chan struct{}) {
	for range len(from) {
		<-from
	}
}

// ofSize is a good review of exactly that many bytes.
func ofSize(t *testing.T, size int) []byte {
	t.Helper()
	body := sized(t, size-len(sized(t, 0)))
	if len(body) != size {
		t.Fatalf("%d bytes, want %d", len(body), size)
	}
	return body
}

func TestSmallBodiesPassAFullGate(t *testing.T) {
	g := newGated(t)
	g.fill(g.large.chunks)
	g.fill(g.large.places)
	for size, want := range map[int]int{
		1 << 10: http.StatusOK, smallBody: http.StatusOK, smallBody + 1: http.StatusServiceUnavailable,
		1 << 20: http.StatusServiceUnavailable,
	} {
		for _, announced := range []int64{int64(size), -1} {
			if got := g.post(bytes.NewReader(ofSize(t, size)), announced); got != want {
				t.Errorf("%d bytes, announced as %d: %d, want %d", size, announced, got, want)
			}
		}
	}
}

func TestALargeBodyNeedsChunksAndAPlace(t *testing.T) {
	body := ofSize(t, 1<<20)
	for name, fill := range map[string]func(gated){
		"no chunk is left": func(g gated) { g.fill(g.large.chunks) },
		"too few are left": func(g gated) { g.fill(g.large.chunks); <-g.large.chunks },
		"no place is left": func(g gated) { g.fill(g.large.places) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGated(t)
			if got := g.post(bytes.NewReader(body), int64(len(body))); got != http.StatusOK {
				t.Errorf("code %d through an empty gate", got)
			}
			fill(g)
			chunks, places := len(g.large.chunks), len(g.large.places)
			if got := g.post(bytes.NewReader(body), int64(len(body))); got != http.StatusServiceUnavailable {
				t.Errorf("code %d through a full one", got)
			}
			if got := testutil.ToFloat64(g.metrics.failures.WithLabelValues("503")); got != 1 {
				t.Errorf("counted %v", got)
			}
			if len(g.large.chunks) != chunks || len(g.large.places) != places {
				t.Errorf("%d chunks and %d places are held, %d and %d before", len(g.large.chunks), len(g.large.places), chunks, places)
			}
		})
	}
}

// stalled sends so much, says so, and then nothing until the test is over.
type stalled struct {
	io.Reader
	sent chan struct{}
	over <-chan struct{}
}

func (s *stalled) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		close(s.sent)
		<-s.over
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

func TestASlowBodyHoldsWhatHasArrived(t *testing.T) {
	for size, chunks := range map[int]int{0: 0, 1000: 0, smallBody: 0, smallBody + 2: 1, 3*smallBody + 2: 3} {
		g := newGated(t)
		over, ended := make(chan struct{}), make(chan int)
		body := &stalled{bytes.NewReader(make([]byte, size)), make(chan struct{}), over}
		go func() { ended <- g.post(body, maxBody) }()
		<-body.sent
		if len(g.large.chunks) != chunks || len(g.large.places) != 0 {
			t.Errorf("%d bytes hold %d chunks and %d places, want %d and none", size, len(g.large.chunks), len(g.large.places), chunks)
		}
		close(over)
		if code := <-ended; code != http.StatusBadRequest || len(g.large.chunks) != 0 {
			t.Errorf("ended with %d, holding %d chunks", code, len(g.large.chunks))
		}
	}
}

func TestEverythingIsGivenBack(t *testing.T) {
	g := newGated(t)
	for name, body := range map[string]io.Reader{
		"a good one":      bytes.NewReader(ofSize(t, 1<<20)),
		"one too large":   strings.NewReader(strings.Repeat(" ", maxBody+1)),
		"no review":       strings.NewReader(strings.Repeat(" ", 1<<20)),
		"one cut off":     io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), &failing{}),
		"one that panics": io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), &panicking{}),
	} {
		g.post(body, -1)
		if len(g.large.chunks)+len(g.large.places) > 0 {
			t.Errorf("%s keeps %d chunks and %d places", name, len(g.large.chunks), len(g.large.places))
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("lost") }

func TestThatLargeOnesAreTurnedAwayIsSaidOncePerRush(t *testing.T) {
	g := newGated(t)
	large := ofSize(t, 1<<20)
	for rush := range 2 {
		g.fill(g.large.places)
		for range 3 {
			g.post(bytes.NewReader(large), -1)
		}
		g.empty(g.large.places)
		g.post(bytes.NewReader(large), -1)
		if lines := strings.Count(g.logs.String(), "\n"); lines != rush+1 {
			t.Errorf("%d lines after rush %d:\n%s", lines, rush, g.logs)
		}
	}
	line := map[string]any{}
	if err := json.NewDecoder(g.logs).Decode(&line); err != nil || line["level"] != "warn" || line["from"] != "192.0.2.1:1234" {
		t.Errorf("said %v, %v", line, err)
	}
}

func TestAnAnnouncedLengthTakesNoMemory(t *testing.T) {
	g := newGated(t)
	const requests = 200
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range requests {
		g.post(strings.NewReader("{"), smallBody)
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / requests; each > smallBody/2 {
		t.Errorf("a request of one byte that announces %d takes %d", smallBody, each)
	}
}
