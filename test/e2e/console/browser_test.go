package console

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// patience is a generous timeout for a browser on a busy machine. It measures nothing.
const patience = 40 * time.Second

type action = chromedp.Action[chromedp.Void]

// browser starts a browser that ends with the test.
func browser(t *testing.T) chromium {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("NOT COVERED without chromium: the console's page. Debian's package is chromium; make deps installs it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"),
		chromedp.NoSandbox, // root can't use the sandbox
		chromedp.Flag("enable-precise-memory-info", true),
		chromedp.WSURLReadTimeout(patience),
	)
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() { cancel(); end() })
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("chromium doesn't start: %v", err)
	}
	return chromium{ctx}
}

// chromium is a browser.
type chromium struct{ context.Context }

// tab is a browser tab, and the faults on it.
type tab struct {
	context.Context
	t   *testing.T
	url string

	mu     sync.Mutex
	faults []string
	// allowed holds parts of faults that the test causes on purpose.
	allowed []string
}

// watching makes the page record violations of its security policy, and long tasks.
const watching = `window.refusals = []
document.addEventListener('securitypolicyviolation', (e) => window.refusals.push('refused: ' + e.violatedDirective + ' ' + e.blockedURI))
window.tasks = []
new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((e) => e.duration))).observe({ type: 'longtask', buffered: true })`

// open opens a tab. Any fault on it fails the test.
func (c chromium) open(t *testing.T, url string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(c.Context)
	b := &tab{Context: ctx, t: t, url: url}
	told := chromedp.Console(ctx)
	go func() {
		for message, err := range told {
			if err != nil {
				return
			}
			if message.Type != chromedp.ConsoleLog && message.Type != chromedp.ConsoleDebug && message.Type != chromedp.ConsoleInfo {
				b.mu.Lock()
				b.faults = append(b.faults, message.String()+" "+message.URL)
				b.mu.Unlock()
			}
		}
	}()
	b.do(call(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watching}), chromedp.EmulateViewport(1440, 900))
	b.do(chromedp.Navigate(url))
	t.Cleanup(func() {
		b.check()
		cancel()
	})
	return b
}

// call returns an action that runs one command.
func call[P, R any](command cdp.Command[P, R], params P) action {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, command, params)
		return err
	})
}

// scheme emulates the user's preference for light or dark.
func scheme(name string) action {
	return call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
}

// check fails the test for each fault so far.
func (b *tab) check() {
	b.t.Helper()
	refused := evaluate[[]string](b, `window.refusals ?? []`)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, fault := range append(b.faults, refused...) {
		known := false
		for _, part := range b.allowed {
			known = known || strings.Contains(fault, part)
		}
		if !known {
			b.t.Errorf("%s: %s", b.url, fault)
		}
	}
	b.faults = nil
}

func (b *tab) do(actions ...action) {
	b.t.Helper()
	// The tab lives as long as the context of its first run, so that context must have no deadline.
	if err := chromedp.Do(b.Context, actions...); err != nil {
		b.t.Fatalf("%s: %v", b.url, err)
	}
}

// evaluate runs a script in the page.
func evaluate[T any](b *tab, script string) T {
	b.t.Helper()
	result, err := chromedp.Run(b.Context, chromedp.Evaluate[T](script))
	if err != nil {
		b.t.Fatalf("%s: %v: %s", b.url, err, script)
	}
	return result
}

// until waits until a script returns true.
func (b *tab) until(what, script string) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if evaluate[bool](b, "Boolean("+script+")") {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%s: not true in time: %s; the page shows:\n%s", b.url, what, b.text("body"))
		}
	}
}

// says waits until the page shows texts.
func (b *tab) says(parts ...string) {
	b.t.Helper()
	for _, part := range parts {
		b.until(quoted(part), fmt.Sprintf("document.body.innerText.includes(%s)", quoted(part)))
	}
}

func (b *tab) text(selector string) string {
	b.t.Helper()
	return evaluate[string](b, fmt.Sprintf("document.querySelector(%s)?.innerText ?? ''", quoted(selector)))
}

// goTo opens another page of the console.
func (b *tab) goTo(hash string) {
	b.t.Helper()
	evaluate[string](b, "location.hash = "+quoted(hash))
}

func (b *tab) live() {
	b.t.Helper()
	b.until("a live stream", `document.getElementById('live')?.dataset.state === 'live'`)
}

func quoted(text string) string {
	encoded, _ := json.Marshal(text)
	return string(encoded)
}
