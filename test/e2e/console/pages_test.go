package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/browser"
)

// TestPages checks every page of one reconciler, on one cluster, in one browser.
func TestPages(t *testing.T) {
	t.Parallel()
	w := start(t)
	r := w.reconcile(t)
	w.shop(t)
	b := open(t, "http://"+r.address)
	b.live()

	part := func(name string, look func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			b.T = t
			look(t)
			b.Check()
		})
		b.T = t
	}
	part("the overview has every mux, how full it is, and what hinders it", func(t *testing.T) {
		b.goTo("#/")
		b.Says("infra/edge", "13 of 60", "10 of 100 used", "8 programmed", "2 no backend ready", "2 refused", "1 disabled",
			"infra/nowhere", "MuxNotFound", "infra/paused", "MuxPaused", "Last change", "leads", "version v1.2.3", "read-only")
	})
	part("a mux is drawn from its address to its backends", func(t *testing.T) {
		b.goTo("#/mux/infra/edge")
		b.Says("203.0.113.", "90 of 100", "3 of 4 backends ready", "6 of 6 backends ready", "no backends",
			"Not attached", "NamespaceNotAllowed", "MuxPortConflict", "ask for auto", "22/TCP ssh",
			"edge-port-allocations, good")
		if lanes := browser.Evaluate[int](b.Tab, `document.querySelectorAll('.lane').length`); lanes != 10 {
			t.Errorf("%d lanes", lanes)
		}
		for state, want := range map[string]int{"held": 9, "grace": 1} {
			if got := browser.Evaluate[int](b.Tab,
				fmt.Sprintf(`document.querySelectorAll('.range rect[data-slot=%s]').length`, state)); got != want {
				t.Errorf("%d numbers are %s, want %d", got, state, want)
			}
		}
	})
	part("channels are searched and sorted out", func(t *testing.T) {
		b.goTo("#/mux/infra/edge")
		b.Until("the search", `document.querySelector('main input[type=search]')`)
		b.typeInto("main input[type=search]", "payments")
		b.Says("4 of 13 channels")
		b.typeInto("main input[type=search]", "")
		b.click("refused")
		b.Says("2 of 13 channels", "None of these has a port on the mux.")
		b.click("refused")
		b.Says("13 channels")
	})
	part("a channel is followed link by link", func(t *testing.T) {
		b.goTo("#/service/shop/web")
		b.Says("http has 80/TCP (explicit)", "3 of 4 ready", "node-1", "shop/web-0")
		if whole := browser.Evaluate[int](b.Tab, `document.querySelectorAll('.chain [data-tone=ok]').length`); whole != 9 {
			t.Errorf("%d links lead to a place", whole)
		}
		b.goTo("#/service/payments/clash")
		b.Says("MuxPortConflict", "not reached")
		b.goTo("#/service/payments/ledger")
		b.Says("0 of 2 ready", "Way out")
	})
	part("why isn't it attached", func(t *testing.T) {
		b.goTo("#/service")
		b.Until("the question", `document.querySelector('.ask input')`)
		b.typeInto(".ask input", "default/kubernetes")
		b.click("Look")
		b.Says("it is a ClusterIP Service", "spec.loadBalancerClass to svc-mux.nowake.ai/", "not a channel")
		b.typeInto(".ask input", "shop/nothing")
		b.click("Look")
		b.Says("there is no Service shop/nothing")
	})
	part("the timeline tells what was decided, and why", func(t *testing.T) {
		b.goTo("#/timeline")
		b.Says("MuxPortConflict", "carried out", "payments/clash", "20009/TCP is released by search/old-index")
		b.click("Warnings")
		b.Until("warnings alone",
			`[...document.querySelectorAll('.timeline > li')].every((li) => li.dataset.tone === 'warn')`)
	})
	part("the keyboard is enough", func(t *testing.T) {
		b.goTo("#/mux/infra/edge")
		b.Until("the strip", `document.querySelector('.range')`)
		b.press("/")
		b.Until("the search has the focus", `document.activeElement.type === 'search'`)
		browser.Evaluate[bool](b.Tab, `document.querySelector('.range').focus() ?? true`)
		b.press("ArrowRight")
		b.Until("the next number is told",
			`document.querySelector('.range').getAttribute('aria-valuetext').includes('20001/TCP held by payments/ledger')`)
		b.press("Enter")
		b.Says("payments/ledger")
		b.Until("its page", `location.hash === '#/service/payments/ledger'`)
	})
	part("what changes shows, and nothing moves", func(t *testing.T) { w.changes(t, b) })
	part("everybody can read it", func(t *testing.T) { readable(t, b) })
	part("a lost stream says so, and comes back", func(t *testing.T) {
		b.Allowed = []string{"ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE",
			"ERR_CONNECTION_RESET"}
		b.goTo("#/mux/infra/edge")
		b.Until("its lanes", `document.querySelectorAll('.lane').length > 9`)
		r.stop()
		b.Says("The stream is lost", "reconnecting")
		if lanes := browser.Evaluate[int](b.Tab, `document.querySelectorAll('.lane').length`); lanes < 10 {
			t.Errorf("known lanes are gone: %d lanes", lanes)
		}
		w.reconcile(t, func(p *run.Process) { p.Options.ConsoleAddress = r.address })
		b.live()
		b.Until("no more of it", `document.getElementById('lost').hidden`)
	})
}

// changes makes changes in the cluster. They must appear, while scroll position, selection, focus and search stay.
func (w *world) changes(t *testing.T, b *tab) {
	b.goTo("#/mux/infra/edge")
	b.Until("its lanes", `document.querySelectorAll('.lane').length === 10`)
	b.Says("No write to come")
	browser.Evaluate[bool](b.Tab, `(() => {
		window.scrollTo(0, 120)
		const cart = [...document.querySelectorAll('.lane a')].find((a) => a.textContent.includes('cart'))
		cart.focus({ preventScroll: true })
		window.kept = cart
		getSelection().selectAllChildren(cart)
		window.place = () => window.kept.getBoundingClientRect().top
		window.placed = window.place()
		return true
	})()`)
	walked := browser.Evaluate[string](b.Tab, `(() => {
		const range = document.querySelector('.range')
		for (let i = 0; i < 3; i++) range.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }))
		return range.getAttribute('aria-valuetext')
	})()`)
	begun := time.Now()
	added := w.channel(t, "shop", "newcomer", "edge")
	b.Until("the newcomer", `[...document.querySelectorAll('.lane a')].some((a) => a.textContent.includes('newcomer'))`)
	t.Logf("a new channel showed after %s", time.Since(begun).Round(time.Millisecond))
	if at := browser.Evaluate[string](b.Tab,
		`document.querySelector('.range').getAttribute('aria-valuetext')`); at != walked {
		t.Errorf("the selected number changed from %q to %q when a port was added", walked, at)
	}
	begun = time.Now()
	w.backs(t, added, 2, 3)
	b.Until("its backends",
		`[...document.querySelectorAll('.lane')].map((l) => l.textContent)`+
			`.some((text) => text.includes('newcomer') && text.includes('2 of 3'))`)
	t.Logf("its backends showed after %s", time.Since(begun).Round(time.Millisecond))
	w.backs(t, added, 0, 3)
	b.Until("that they are gone",
		`[...document.querySelectorAll('.lane')].map((l) => l.textContent)`+
			`.some((text) => text.includes('newcomer') && text.includes('no backend ready'))`)
	if at := browser.Evaluate[[]float64](b.Tab, `[window.place(), window.placed, window.scrollY]`); at[0] != at[1] ||
		at[2] == 0 {
		t.Errorf("the viewed element moved from %v to %v, scrolled by %v", at[1], at[0], at[2])
	}
	if !browser.Evaluate[bool](b.Tab,
		`document.activeElement === window.kept && window.kept.isConnected && getSelection().toString().includes('cart')`) {
		t.Error("focus or selection changed")
	}
	if err := w.Client.CoreV1().Services(added.Namespace).Delete(t.Context(), added.Name,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.Until("that it is gone",
		`![...document.querySelectorAll('.lane a')].some((a) => a.textContent.includes('newcomer'))`)
	// The focused element itself is replaced: its replacement must get the focus.
	w.backs(t, serviceKey("shop", "cart"), 1, 2)
	b.Until("the change",
		`[...document.querySelectorAll('.lane')].map((l) => l.textContent)`+
			`.some((text) => text.includes('cart') && text.includes('1 of 2'))`)
	if !browser.Evaluate[bool](b.Tab, `document.activeElement.textContent.includes('cart')`) {
		t.Error("the focus is lost when its element is replaced")
	}
}

// testToken sets a token, on a process that is a standby.
func (w *world) testToken(t *testing.T) {
	w.reconcile(t)
	w.mux(t, "edge")
	web := w.channel(t, "shop", "web", "edge")
	w.backs(t, web, 1, 1)
	w.await(t, web)
	dialled := make(chan string, 1)
	r := w.reconcile(t, func(p *run.Process) {
		p.Options.ConsoleToken, p.Options.ConsoleActions = "open sesame", "true"
		p.Dial = dialTo(dialled)
	})
	answer, err := http.Get("http://" + r.address + "/api/state")
	if err != nil || answer.StatusCode != http.StatusUnauthorized {
		t.Fatalf("%v %v", answer, err)
	}
	answer.Body.Close()

	b := open(t, "about:blank")
	asked := b.answerPrompts("anybody", "open sesame")
	b.Allowed = []string{"401"}
	b.Do(navigate("http://" + r.address))
	b.live()
	if asked() == 0 {
		t.Error("the browser showed no prompt")
	}
	b.Says("infra/edge", "follows: shows what it sees, writes nothing", "actions are allowed", "1 programmed")
	b.goTo("#/service/shop/web")
	b.click("Connect to 10.0.")
	b.Says("connected in")
	if to := <-dialled; to != "10.0.3.1:8080" {
		t.Errorf("dialled %s", to)
	}
	b.goTo("#/timeline")
	b.Says("This process follows")

	for name, tc := range map[string]struct {
		body string
		want int
	}{
		"a port that isn't a backend's": {`{"address":"10.0.3.1","port":22}`, http.StatusForbidden},
		"the cloud's metadata server":   {`{"address":"169.254.169.254","port":80}`, http.StatusForbidden},
	} {
		b.Allowed = append(b.Allowed, "403")
		script := fmt.Sprintf(
			`fetch('api/test-tcp', {method: 'POST', headers: {'Content-Type': 'application/json'}, `+
				`body: %s}).then((r) => r.status)`, browser.Quoted(tc.body))
		if got := awaited[int](b, script); got != tc.want {
			t.Errorf("%s: %d", name, got)
		}
	}
	if !strings.Contains(r.log.String(), `"path":"/api/test-tcp","status":403`) {
		t.Error("the log has no refusals")
	}
	if strings.Contains(r.log.String(), "open sesame") {
		t.Error("the token is in the log")
	}
}
