package life

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// traffic sends requests through a mux's address without pause, each over a new connection, and records wrong and
// missing answers.
type traffic struct {
	cluster *cluster.Cluster
	passed  *cluster.PassedBy
	stop    context.CancelFunc
	done    sync.WaitGroup

	mu    sync.Mutex
	asked int
	lost  []loss
	// allowances holds connections that passed kube-proxy's rules.
	allowances cluster.Allowances
	// unanswered is the kernel's connection tracking at the first loss.
	unanswered string
}

// loss is a request with a wrong answer or none.
type loss struct {
	began time.Time
	why   error
}

func (l loss) String() string { return l.began.Format(time.TimeOnly) + " " + l.why.Error() }

// between is the time from one request to the next.
const between = 40 * time.Millisecond

// ask starts once all URLs answer.
func (w *world) ask(t *testing.T, urls ...string) *traffic {
	t.Helper()
	client := w.Outside().HTTP()
	var ports []string
	for _, url := range urls {
		_, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
		ports = append(ports, cmp.Or(port, "80"))
		cluster.Eventually(t, url+" is answered", func(ctx context.Context) error { return get(ctx, client, url) })
	}
	passed, err := w.CountPassedBy(t.Context(), ports...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	traffic := &traffic{cluster: w.Cluster, passed: passed, stop: cancel}
	t.Cleanup(func() {
		cancel()
		if err := passed.End(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	for _, url := range urls {
		traffic.done.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				traffic.note(began, get(context.WithoutCancel(ctx), client, url))
				time.Sleep(between)
			}
		})
	}
	return traffic
}

func (r *traffic) note(began time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	if err != nil {
		if r.unanswered == "" {
			r.unanswered = r.cluster.Unanswered(context.Background())
		}
		r.lost = append(r.lost, loss{began, err})
	}
}

// check fails the test for each request lost so far. A connection that passed kube-proxy's rules untranslated at that
// time is excused: a watch shows that the objects had no gap, so the fault is in the rules or in the kernel. At most
// one request in a hundred may have this excuse.
func (r *traffic) check(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Logf("%d requests, %d lost", r.asked, len(r.lost))
	if r.asked == 0 {
		t.Error("no request was sent")
	}
	passed, err := r.passed.Take(t.Context())
	if err != nil {
		t.Error(err)
	}
	r.allowances = append(r.allowances, passed...)
	var failed []string
	for i, lost := range r.lost {
		if i < r.asked/100 && strings.HasSuffix(lost.why.Error(), cluster.NoRoute) && r.allowances.Excuse(lost.began) {
			t.Logf("a request passed kube-proxy's rules: %s\n%s", lost, r.unanswered)
			continue
		}
		failed = append(failed, lost.String())
	}
	if len(failed) > 0 {
		t.Errorf("%d of %d requests were lost:\n%s\n%s", len(failed), r.asked,
			strings.Join(failed[:min(5, len(failed))], "\n"), r.unanswered)
	}
	r.lost = nil
}

func (r *traffic) end(t *testing.T) {
	t.Helper()
	r.stop()
	r.done.Wait()
	r.check(t)
}

func get(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && !strings.HasPrefix(string(body), "web-") {
		err = fmt.Errorf("at %s, %q answers", url, body)
	}
	return err
}
