// Package browser drives a headless Chromium: tests open pages in it, and a fault on a page fails its test.
package browser

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

// Patience is a generous timeout for a browser on a busy machine. It measures nothing.
const Patience = 40 * time.Second

// Action is a step of a tab.
type Action = chromedp.Action[chromedp.Void]

// Chromium is a browser.
type Chromium struct{ context.Context }

// Start starts a browser that ends with the test. Without Chromium it skips the test, and names what the test covers.
func Start(t *testing.T, covers string) Chromium {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("NOT COVERED without chromium: " + covers + ". Debian's package is chromium; make deps installs it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"),
		chromedp.NoSandbox, // root can't use the sandbox
		chromedp.Flag("enable-precise-memory-info", true),
		chromedp.WSURLReadTimeout(Patience),
	)
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() { cancel(); end() })
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("chromium doesn't start: %v", err)
	}
	return Chromium{ctx}
}

// Tab is a browser tab, and the faults on it.
type Tab struct {
	context.Context

	T   *testing.T // fails if a step does
	URL string
	// Allowed holds parts of faults that the test causes on purpose.
	Allowed []string

	mu     sync.Mutex
	faults []string
}

// watching makes the page record violations of its security policy, and long tasks.
const watching = `window.refusals = []
document.addEventListener('securitypolicyviolation',
	(e) => window.refusals.push('refused: ' + e.violatedDirective + ' ' + e.blockedURI))
window.tasks = []
new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((e) => e.duration)))
	.observe({ type: 'longtask', buffered: true })`

// Open opens a tab. Any fault on it fails the test.
func (c Chromium) Open(t *testing.T, url string) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(c.Context)
	b := &Tab{Context: ctx, T: t, URL: url}
	told := chromedp.Console(ctx)
	go func() {
		for message, err := range told {
			if err != nil {
				return
			}
			if message.Type != chromedp.ConsoleLog && message.Type != chromedp.ConsoleDebug &&
				message.Type != chromedp.ConsoleInfo {
				b.mu.Lock()
				b.faults = append(b.faults, message.String()+" "+message.URL)
				b.mu.Unlock()
			}
		}
	}()
	b.Do(Call(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watching}),
		chromedp.EmulateViewport(1440, 900))
	b.Do(chromedp.Navigate(url))
	t.Cleanup(func() {
		b.Check()
		cancel()
	})
	return b
}

// Call returns an action that runs one command.
func Call[P, R any](command cdp.Command[P, R], params P) Action {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, command, params)
		return err
	})
}

// Scheme emulates the user's preference for light or dark.
func Scheme(name string) Action {
	return Call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
}

// Check fails the test for each fault so far.
func (b *Tab) Check() {
	b.T.Helper()
	refused := Evaluate[[]string](b, `window.refusals ?? []`)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, fault := range append(b.faults, refused...) {
		known := false
		for _, part := range b.Allowed {
			known = known || strings.Contains(fault, part)
		}
		if !known {
			b.T.Errorf("%s: %s", b.URL, fault)
		}
	}
	b.faults = nil
}

// Do runs actions.
func (b *Tab) Do(actions ...Action) {
	b.T.Helper()
	// The tab lives as long as the context of its first run, so that context must have no deadline.
	if err := chromedp.Do(b.Context, actions...); err != nil {
		b.T.Fatalf("%s: %v", b.URL, err)
	}
}

// Evaluate runs a script in the page.
func Evaluate[T any](b *Tab, script string) T {
	b.T.Helper()
	result, err := chromedp.Run(b.Context, chromedp.Evaluate[T](script))
	if err != nil {
		b.T.Fatalf("%s: %v: %s", b.URL, err, script)
	}
	return result
}

// Until waits until a script returns true. An error isn't final: a script that runs while the tab goes to another page
// fails.
func (b *Tab) Until(what, script string) {
	b.T.Helper()
	for deadline := time.Now().Add(Patience); ; time.Sleep(50 * time.Millisecond) {
		is, err := chromedp.Run(b.Context, chromedp.Evaluate[bool]("Boolean("+script+")"))
		if is && err == nil {
			return
		}
		if time.Now().After(deadline) {
			b.T.Fatalf("%s: not true in time: %s; %v; the page shows:\n%s", b.URL, what, err, b.Text("body"))
		}
	}
}

// Says waits until the page shows texts.
func (b *Tab) Says(parts ...string) {
	b.T.Helper()
	for _, part := range parts {
		b.Until(Quoted(part), fmt.Sprintf("document.body.innerText.includes(%s)", Quoted(part)))
	}
}

// Text returns the text of an element, or an empty one.
func (b *Tab) Text(selector string) string {
	b.T.Helper()
	return Evaluate[string](b, fmt.Sprintf("document.querySelector(%s)?.innerText ?? ''", Quoted(selector)))
}

// Quoted returns a text as a string of JavaScript.
func Quoted(text string) string {
	encoded, _ := json.Marshal(text)
	return string(encoded)
}
