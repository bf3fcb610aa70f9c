package console

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"k8s.io/apimachinery/pkg/types"
)

func serviceKey(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func navigate(url string) action { return chromedp.Navigate(url) }

// typeInto replaces the content of a field, as typing does.
func (b *tab) typeInto(selector, text string) {
	b.t.Helper()
	evaluate[bool](b, fmt.Sprintf(`(() => {
		const field = document.querySelector(%s)
		field.focus(); field.value = %s
		field.dispatchEvent(new Event('input', { bubbles: true }))
		return true
	})()`, quoted(selector), quoted(text)))
}

// click waits for a button with a text, and clicks the first one.
func (b *tab) click(text string) {
	b.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll('button')].find((n) => n.textContent.includes(%s))`, quoted(text))
	b.until("the button "+text, find)
	evaluate[bool](b, find+".click() ?? true")
}

// press presses a key at the focused element.
func (b *tab) press(key string) {
	b.t.Helper()
	named := map[string]string{"ArrowRight": kb.ArrowRight, "Enter": kb.Enter}
	if code, known := named[key]; known {
		key = code
	}
	b.do(chromedp.KeyEvent(key))
}

// awaited runs a script that returns a promise.
func awaited[T any](b *tab, script string) T {
	b.t.Helper()
	result, err := chromedp.Run(b.Context, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v: %s", b.url, err, script)
	}
	return result
}

// answerPrompts answers prompts for a name and a password, and returns a function that counts them.
func (b *tab) answerPrompts(name, password string) func() int {
	b.t.Helper()
	var asked atomic.Int64
	paused, prompts := chromedp.Events(b.Context, fetch.RequestPaused), chromedp.Events(b.Context, fetch.AuthRequired)
	yes := true
	b.do(call(fetch.Enable, fetch.EnableParams{HandleAuthRequests: &yes}))
	go func() {
		for event, err := range paused {
			if err != nil {
				return
			}
			_ = chromedp.Do(b.Context, call(fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: event.RequestID}))
		}
	}()
	go func() {
		for event, err := range prompts {
			if err != nil {
				return
			}
			asked.Add(1)
			_ = chromedp.Do(b.Context, call(fetch.ContinueWithAuth, fetch.ContinueWithAuthParams{
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
