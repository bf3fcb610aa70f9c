package console

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/test/browser"
)

func serviceKey(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func navigate(url string) browser.Action { return chromedp.Navigate(url) }

// tab is a tab with the console.
type tab struct{ *browser.Tab }

func open(t *testing.T, url string) *tab {
	t.Helper()
	return &tab{browser.Start(t, "the console's page").Open(t, url)}
}

// goTo opens another page of the console.
func (b *tab) goTo(hash string) {
	b.T.Helper()
	browser.Evaluate[string](b.Tab, "location.hash = "+browser.Quoted(hash))
}

func (b *tab) live() {
	b.T.Helper()
	b.Until("a live stream", `document.getElementById('live')?.dataset.state === 'live'`)
}

// typeInto replaces the content of a field, as typing does.
func (b *tab) typeInto(selector, text string) {
	b.T.Helper()
	browser.Evaluate[bool](b.Tab, fmt.Sprintf(`(() => {
		const field = document.querySelector(%s)
		field.focus(); field.value = %s
		field.dispatchEvent(new Event('input', { bubbles: true }))
		return true
	})()`, browser.Quoted(selector), browser.Quoted(text)))
}

// click waits for a button with a text, and clicks the first one.
func (b *tab) click(text string) {
	b.T.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll('button')].find((n) => n.textContent.includes(%s))`,
		browser.Quoted(text))
	b.Until("the button "+text, find)
	browser.Evaluate[bool](b.Tab, find+".click() ?? true")
}

// press presses a key at the focused element.
func (b *tab) press(key string) {
	b.T.Helper()
	named := map[string]string{"ArrowRight": kb.ArrowRight, "Enter": kb.Enter}
	if code, known := named[key]; known {
		key = code
	}
	b.Do(chromedp.KeyEvent(key))
}

// awaited runs a script that returns a promise.
func awaited[T any](b *tab, script string) T {
	b.T.Helper()
	result, err := chromedp.Run(b.Context, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.T.Fatalf("%s: %v: %s", b.URL, err, script)
	}
	return result
}

// answerPrompts answers prompts for a name and a password, and returns a function that counts them.
func (b *tab) answerPrompts(name, password string) func() int {
	b.T.Helper()
	var asked atomic.Int64
	paused, prompts := chromedp.Events(b.Context, fetch.RequestPaused), chromedp.Events(b.Context, fetch.AuthRequired)
	yes := true
	b.Do(browser.Call(fetch.Enable, fetch.EnableParams{HandleAuthRequests: &yes}))
	go func() {
		for event, err := range paused {
			if err != nil {
				return
			}
			_ = chromedp.Do(b.Context,
				browser.Call(fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: event.RequestID}))
		}
	}()
	go func() {
		for event, err := range prompts {
			if err != nil {
				return
			}
			asked.Add(1)
			_ = chromedp.Do(b.Context, browser.Call(fetch.ContinueWithAuth, fetch.ContinueWithAuthParams{
				RequestID: event.RequestID, AuthChallengeResponse: &fetch.AuthChallengeResponse{
					Response: fetch.AuthChallengeResponseResponseProvideCredentials, Username: name, Password: password,
				},
			}))
		}
	}()
	return func() int { return int(asked.Load()) }
}

// dialTo is a network in which every address answers.
func dialTo(dialled chan<- string) func(context.Context, string, string) (net.Conn, error) {
	return func(_ context.Context, _, address string) (net.Conn, error) {
		dialled <- address
		ours, theirs := net.Pipe()
		go theirs.Close()
		return ours, nil
	}
}
