package console

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/browser"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/long"
)

// TestManyChannels measures the page with 200 channels on one mux, or in `make long` with a thousand. The figures are
// only printed: a busy machine fails no test.
func TestManyChannels(t *testing.T) {
	t.Parallel()
	many := 200
	if long.Runs() {
		many = 1000
	}
	w := start(t)
	r := w.reconcile(t)
	mux := w.mux(t, "edge", annotated("port-range", "20000-29999"))
	w.namespace(t, "shop")
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := worker; i < many; i += 8 {
				channel := w.channel(t, "shop", fmt.Sprintf("web-%04d", i), "edge")
				w.backs(t, channel, i%4, 3)
			}
		})
	}
	all.Wait()
	for _, part := range []int{many / 4, many / 2, many} { // each part has its own timeout
		cluster.Eventually(t, fmt.Sprintf("%d are on the mux", part), func(ctx context.Context) error {
			svc, err := w.Client.CoreV1().Services(mux.Namespace).Get(ctx, mux.Name, metav1.GetOptions{})
			if err == nil && len(svc.Spec.Ports) < part {
				return fmt.Errorf("%d ports are on the mux", len(svc.Spec.Ports))
			}
			return err
		})
	}
	b := open(t, "http://"+r.address+"/#/mux/infra/edge")
	b.Until("all lanes", fmt.Sprintf(`document.querySelectorAll('.lane').length === %d`, many))
	b.live()
	ready := browser.Evaluate[float64](b.Tab,
		`(() => { const n = performance.getEntriesByName('svc-lb-mux: interactive')[0]; return n ? n.startTime : -1 })()`)
	t.Logf("interactive after %.0f ms; long tasks until then: %v ms", ready,
		browser.Evaluate[[]float64](b.Tab, `window.tasks.map(Math.round)`))
	t.Logf("memory: %.1f MB of JavaScript, %d elements; state is %.0f KB",
		browser.Evaluate[float64](b.Tab, `performance.memory.usedJSHeapSize / 1e6`),
		browser.Evaluate[int](b.Tab, `document.querySelectorAll('*').length`), awaited[float64](b,
			`fetch('api/state').then((r) => r.text()).then((t) => t.length / 1024)`))
	frames := awaited[map[string]float64](b, scrolling)
	t.Logf("scrolling: %.0f frames, median %.1f ms, 95%% %.1f ms, longest %.1f ms", frames["n"], frames["p50"],
		frames["p95"], frames["max"])
	t.Logf("a search: %.1f ms", browser.Evaluate[float64](b.Tab, `(() => {
		const field = document.querySelector('main input[type=search]'), begun = performance.now()
		field.value = 'web-0199'; field.dispatchEvent(new Event('input', { bubbles: true })); document.body.offsetHeight
		return performance.now() - begun })()`))
	b.Until("the one", `document.querySelectorAll('.lane').length === 1`)
	b.typeInto("main input[type=search]", "")
	browser.Evaluate[bool](b.Tab, `(window.tasks = [], true)`)
	for range 3 {
		begun := time.Now()
		key := w.channel(t, "shop", fmt.Sprintf("late-%d", begun.UnixNano()), "edge")
		b.Until("it", fmt.Sprintf(`[...document.querySelectorAll('.lane a')].some((a) => a.textContent.includes(%s))`,
			browser.Quoted(key.Name)))
		t.Logf("a channel more showed after %s", time.Since(begun).Round(time.Millisecond))
	}
	t.Logf("long tasks for those: %v ms", browser.Evaluate[[]float64](b.Tab, `window.tasks.map(Math.round)`))
	begun := time.Now()
	for i := range 100 {
		key := serviceKey("shop", fmt.Sprintf("web-%04d", i))
		if err := touch(t.Context(), w, key.Namespace, key.Name); err != nil {
			t.Fatal(err)
		}
	}
	b.Until("that the last one is disabled", `document.querySelector('.refused')?.children.length === 100`)
	t.Logf("a hundred channels that are disabled showed after %s; long tasks: %v ms",
		time.Since(begun).Round(time.Millisecond),
		browser.Evaluate[[]float64](b.Tab, `window.tasks.map(Math.round)`))
}

func touch(ctx context.Context, w *world, namespace, name string) error {
	_, err := w.Client.CoreV1().Services(namespace).Patch(ctx, name, "application/merge-patch+json",
		[]byte(`{"metadata":{"annotations":{"`+prefix+`/disabled":"true"}}}`), metav1.PatchOptions{})
	return err
}

// scrolling scrolls through the page, and measures the time of each frame.
const scrolling = `new Promise((done) => {
	const spans = []
	let last = performance.now()
	const step = () => {
		const now = performance.now()
		spans.push(now - last)
		last = now
		window.scrollBy(0, 160)
		if (spans.length < 240) requestAnimationFrame(step)
		else {
			window.scrollTo(0, 0)
			spans.sort((a, b) => a - b)
			done({ n: spans.length, p50: spans[120], p95: spans[228], max: spans[239] })
		}
	}
	requestAnimationFrame(step)
})`
