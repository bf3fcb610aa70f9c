package site

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/test/browser"
	"nowake.ai/svc-lb-mux/test/long"
)

// coloured are pages that have all colours.
var coloured = []string{"/v1.10.0/index.html", "/v1.10.0/reconciler.html", "/v1.10.0/rules.html", "/v1.10.0/pages.html"}

// look opens the website in a browser: from its folder, and from a server.
func look(t *testing.T, folder, server string) {
	chromium := browser.Start(t, "the website")
	local := "file://" + filepath.ToSlash(folder)
	var pages []string
	for _, path := range files(t, filepath.Join(folder, "v1.10.0"), "*.html") {
		pages = append(pages, "/v1.10.0/"+filepath.Base(path))
	}

	for _, from := range []string{local, server} {
		t.Run("search finds a page from "+from[:4], func(t *testing.T) {
			search(t, chromium.Open(t, from+"/v1.10.0/index.html"))
		})
		t.Run("other versions are in a menu from "+from[:4], func(t *testing.T) {
			versions(t, chromium.Open(t, from+"/v1.10.0/muxes.html"))
		})
	}
	t.Run("the first page shows the product", func(t *testing.T) {
		b := chromium.Open(t, local+"/index.html") // the newest release
		b.Until("the first page", `document.readyState === 'complete' && location.pathname.endsWith('/v1.10.0/index.html')`)
		b.Says("one load balancer", "203.0.113.10", "Application teams", "Platform teams", "Operators", "Contributors",
			"v1.10.0")
		if low := browser.Evaluate[float64](b,
			`document.querySelector('.halves').getBoundingClientRect().bottom`); low > 900 {
			t.Errorf("the picture ends at %v, below a screen of 900", low)
		}
	})
	t.Run("light and dark differ, and the switch is remembered", func(t *testing.T) {
		themes(t, chromium.Open(t, server+"/v1.10.0/index.html"))
	})
	wide := pages
	if !long.Runs() {
		wide = coloured // what fits on a phone fits on a desktop
	}
	t.Run("pages are readable on a desktop", func(t *testing.T) {
		readable(t, chromium.Open(t, local+"/v1.10.0/index.html"), local, wide, 1440)
	})
	t.Run("pages are readable on a phone", func(t *testing.T) {
		readable(t, chromium.Open(t, server+"/v1.10.0/index.html"), server, pages, 390)
	})
	t.Run("a phone has a menu of the pages", func(t *testing.T) {
		b := chromium.Open(t, local+"/v1.10.0/muxes.html")
		b.Do(chromedp.EmulateViewport(390, 844))
		b.Until("no menu", `!document.getElementById('site-nav').checkVisibility()`)
		browser.Evaluate[bool](b, `document.querySelector('.menu').click() ?? true`)
		b.Until("the menu", `document.getElementById('site-nav').checkVisibility()`)
	})
	t.Run("without scripts all pages can be reached", func(t *testing.T) {
		b := chromium.Open(t, "about:blank")
		b.Do(browser.Call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}),
			chromedp.Navigate(local+"/v1.10.0/muxes.html"))
		if browser.Evaluate[bool](b, `document.querySelector('.search').checkVisibility()`) {
			t.Error("there is a search that can't work")
		}
		for _, page := range []string{"channels.html", "../versions.html"} {
			if !browser.Evaluate[bool](b, fmt.Sprintf(`document.querySelector('a[href="%s"]').checkVisibility()`, page)) {
				t.Errorf("no link to %s", page)
			}
		}
	})
	shots(t, chromium, local)
}

func search(t *testing.T, b *browser.Tab) {
	ask(b, "release-grace mux")
	b.Until("results", `document.querySelectorAll('#site-results li').length`)
	pages := browser.Evaluate[[]string](b,
		`[...document.querySelectorAll('#site-results a')].map((a) => a.getAttribute('href').split('#')[0])`)
	if !slices.Contains(pages, "muxes.html") {
		t.Errorf("muxes.html isn't found, but %v", pages)
	}
	first := browser.Evaluate[string](b, `document.querySelector('#site-results a').getAttribute('href')`)
	b.Do(chromedp.KeyEvent(kb.Enter))
	b.Until("the first result",
		fmt.Sprintf("document.readyState === 'complete' && location.href.endsWith(%s)", browser.Quoted(first)))
	ask(b, "xyzzy <b>")
	b.Says("Nothing has all of these words: xyzzy <b>")
}

// ask presses / to get to the search field, and types. The driver sends the character / too, which a keyboard doesn't;
// so the field is emptied first.
func ask(b *browser.Tab, words string) {
	b.Do(chromedp.KeyEvent("/"))
	b.Until("the key / leads to the field", `document.activeElement.id === 'site-query'`)
	browser.Evaluate[string](b, `document.activeElement.value = ''`)
	b.Do(chromedp.KeyEvent(words))
}

func versions(t *testing.T, b *browser.Tab) {
	b.Until("a menu", `document.querySelector('select.version')`)
	got := browser.Evaluate[[]string](b, `[...document.querySelector('select.version').options].map((o) => o.text)`)
	if diff := cmp.Diff([]string{"v1.10.0", "v1.10.0-rc.1", "v1.9.0", "v1.10.0-3-gabcdef0-dirty"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	browser.Evaluate[bool](b,
		`(() => { const menu = document.querySelector('select.version'); menu.value = 'v1.9.0'; `+
			`return menu.dispatchEvent(new Event('change')) })()`)
	b.Until("the same page of the other version",
		`document.readyState === 'complete' && location.pathname.endsWith('/v1.9.0/muxes.html')`)
}

func themes(t *testing.T, b *browser.Tab) {
	ground := func() string { return browser.Evaluate[string](b, `getComputedStyle(document.body).backgroundColor`) }
	b.Do(browser.Scheme("light"))
	light := ground()
	b.Do(browser.Scheme("dark"))
	dark := ground()
	if light == dark {
		t.Errorf("light and dark have the background %s", light)
	}
	browser.Evaluate[bool](b, `document.getElementById('site-theme').click() ?? true`)
	if got := ground(); got != light {
		t.Errorf("after the switch, the background is %s, want %s", got, light)
	}
	b.Do(chromedp.Navigate(strings.Replace(b.URL, "index", "muxes", 1)))
	if got := ground(); got != light {
		t.Errorf("on the next page, the background is %s, want %s", got, light)
	}
}

// readable checks on each page that nothing is wider than the screen, that texts have contrast, and that the browser
// loaded nothing from another site.
func readable(t *testing.T, b *browser.Tab, from string, pages []string, width int64) {
	b.Do(chromedp.EmulateViewport(width, 900))
	for _, page := range pages {
		b.Do(chromedp.Navigate(from + page))
		if wide := browser.Evaluate[int64](b, `document.documentElement.scrollWidth`); wide > width {
			t.Errorf("%s is %d wide on a screen of %d: %v", page, wide, width, browser.Evaluate[[]string](b, wideParts))
		}
		for _, name := range browser.Evaluate[[]string](b,
			`performance.getEntriesByType('resource').map((entry) => entry.name)`) {
			if !strings.HasPrefix(name, from) {
				t.Errorf("%s requests %s", page, name)
			}
		}
		if broken := browser.Evaluate[[]string](b,
			`[...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)`); len(broken) > 0 {
			t.Errorf("%s can't show %v", page, broken)
		}
		if !slices.Contains(coloured, page) {
			continue
		}
		for _, like := range []string{"light", "dark"} {
			b.Do(browser.Scheme(like))
			for _, poor := range b.Poor() {
				t.Errorf("%s, %s: %s", page, like, poor)
			}
		}
	}
}

// wideParts names the elements that reach beyond the screen.
const wideParts = `[...document.body.querySelectorAll('*')]
	.filter((n) => n.getBoundingClientRect().right > innerWidth && !n.closest('pre, .table, #site-nav'))
	.slice(0, 5).map((n) => n.tagName + '.' + n.className)`

// shots writes pictures of pages into the folder SITE_SHOTS, which help to change the design.
func shots(t *testing.T, chromium browser.Chromium, from string) {
	folder := os.Getenv("SITE_SHOTS")
	if folder == "" {
		return
	}
	b := chromium.Open(t, from+"/v1.10.0/index.html")
	for _, page := range []string{"index", "channels", "console", "dataplane", "rules", "glossary", "gateways",
		"performance", "pages"} {
		for _, like := range []string{"light", "dark"} {
			for size, width := range map[string]int64{"wide": 1440, "narrow": 390} {
				b.Do(browser.Scheme(like), chromedp.EmulateViewport(width, 900), chromedp.Navigate(from+"/v1.10.0/"+page+".html"),
					chromedp.Sleep(100*time.Millisecond))
				picture, err := chromedp.Run(b.Context, chromedp.CaptureScreenshot())
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(folder, page+"-"+like+"-"+size+".png"), picture, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
