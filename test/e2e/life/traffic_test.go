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

// traffic asks through a mux's address, over and over, each time with a new connection, and remembers what wasn't answered.
type traffic struct {
	cluster *cluster.Cluster
	passed  *cluster.PassedBy
	stop    context.CancelFunc
	done    sync.WaitGroup

	mu    sync.Mutex
	asked int
	lost  []string
	// astray is how many of them went where nobody is, as what kube-proxy's rules let pass does.
	astray int
	// unanswered is what the kernel knew when the first was lost.
	unanswered string
}

// between is the time from one request to the next.
const between = 40 * time.Millisecond

// ask begins with what is answered already.
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
				traffic.note(get(context.WithoutCancel(ctx), client, url))
				time.Sleep(between)
			}
		})
	}
	return traffic
}

func (r *traffic) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	if err != nil {
		if r.unanswered == "" {
			r.unanswered = r.cluster.Unanswered(context.Background())
		}
		if strings.HasSuffix(err.Error(), cluster.NoRoute) {
			r.astray++
		}
		r.lost = append(r.lost, fmt.Sprintf("%s %v", time.Now().Format(time.TimeOnly), err))
	}
}

// check fails the test for what was lost so far, but for connections that kube-proxy's rules let pass as they came: what kube-proxy goes
// by is watched besides, so if that had no gap, the rules had, or the kernel. One in a hundred at most, or it isn't that.
func (r *traffic) check(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Logf("%d requests, %d lost", r.asked, len(r.lost))
	if r.asked == 0 {
		t.Error("nothing was asked")
	}
	passed, err := r.passed.Take(t.Context())
	if err != nil {
		t.Error(err)
	}
	if 0 < len(r.lost) && len(r.lost) <= min(passed, r.astray, r.asked/100) {
		t.Logf("as kube-proxy's rules let pass %d: %s\n%s", passed, strings.Join(r.lost, "\n"), r.unanswered)
	} else if len(r.lost) > 0 {
		t.Errorf("%d of %d requests were lost:\n%s\n%s", len(r.lost), r.asked, strings.Join(r.lost[:min(5, len(r.lost))], "\n"), r.unanswered)
	}
	r.lost, r.astray = nil, 0
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
		err = fmt.Errorf("%s is answered by %q", url, body)
	}
	return err
}
