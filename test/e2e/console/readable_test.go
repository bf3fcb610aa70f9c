package console

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
)

// readable checks every page for accessibility: the tree that screen readers use, and the contrast of colours.
func readable(t *testing.T, b *tab) {
	for _, hash := range []string{"#/", "#/mux/infra/edge", "#/mux/infra/paused", "#/service/shop/web", "#/service/payments/clash", "#/service", "#/timeline"} {
		b.goTo(hash)
		b.until("the page", `document.querySelector('main h1') && (!location.hash.startsWith('#/service/') || document.querySelector('.chain'))`)
		heard(t, b, hash)
		for _, like := range []string{"light", "dark"} {
			b.do(scheme(like))
			for _, poor := range evaluate[[]string](b, contrast) {
				t.Errorf("%s, %s: %s", hash, like, poor)
			}
		}
	}
	for _, wrong := range evaluate[[]string](b, structure) {
		t.Error(wrong)
	}
	b.do(chromedp.EmulateViewport(360, 800))
	for _, hash := range []string{"#/", "#/mux/infra/edge", "#/service/shop/web", "#/timeline"} {
		b.goTo(hash)
		b.until("the page", `document.querySelector('main h1')`)
		if wide := evaluate[int](b, `document.documentElement.scrollWidth`); wide > 360 {
			t.Errorf("%s is %d wide on a screen of 360", hash, wide)
		}
	}
	b.do(chromedp.EmulateViewport(1440, 900))
}

// heard checks that everything reachable has a name, and that the page has its landmarks.
func heard(t *testing.T, b *tab, hash string) {
	t.Helper()
	tree, err := chromedp.Call(b.Context, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		t.Fatal(err)
	}
	named := []string{"link", "button", "searchbox", "textbox", "combobox", "slider", "list", "image", "navigation", "region", "table", "heading"}
	roles := map[string]int{}
	for _, node := range tree.Nodes {
		if node.Ignored || node.Role == nil {
			continue
		}
		role, name := word(node.Role), word(node.Name)
		roles[role]++
		if slices.Contains(named, role) && name == "" && role != "list" {
			t.Errorf("%s: a %s has no name", hash, role)
		}
	}
	for role, want := range map[string]int{"main": 1, "banner": 1, "navigation": 1, "contentinfo": 1} {
		if roles[role] != want {
			t.Errorf("%s: %d of role %s", hash, roles[role], role)
		}
	}
	if roles["heading"] == 0 {
		t.Errorf("%s: no heading", hash)
	}
}

func word(value *accessibility.Value) string {
	var text string
	if value != nil {
		_ = json.Unmarshal([]byte(value.Value), &text)
	}
	return text
}

// structure finds mistakes that the accessibility tree doesn't show.
const structure = `(() => {
	const wrong = []
	const ids = [...document.querySelectorAll('[id]')].map((n) => n.id)
	for (const id of new Set(ids)) if (ids.filter((i) => i === id).length > 1) wrong.push('twice: #' + id)
	if (!document.documentElement.lang) wrong.push('no language')
	if (document.querySelectorAll('h1').length !== 1) wrong.push('not one h1')
	for (const n of document.querySelectorAll('[tabindex]')) if (n.tabIndex > 0) wrong.push('a tab order of its own')
	return wrong
})()`

// contrast finds texts with too little contrast to their background: 4.5 to 1, or 3 to 1 for large texts.
const contrast = `(() => {
	const parse = (text) => { const n = text.match(/[\d.]+/g).map(Number); return { rgb: n.slice(0, 3), a: n[3] ?? 1 } }
	const light = ([r, g, b]) => { const f = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4 }; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b) }
	const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05) }
	const behind = (node) => {
		for (let n = node; n; n = n.parentElement) { const c = parse(getComputedStyle(n).backgroundColor); if (c.a === 1) return c.rgb }
		return matchMedia('(prefers-color-scheme: dark)').matches ? [0, 0, 0] : [255, 255, 255]
	}
	const poor = new Set()
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
	while (walk.nextNode()) {
		const text = walk.currentNode.textContent.trim(), node = walk.currentNode.parentElement
		if (!text || !node.checkVisibility() || node.closest('noscript, .skip, .quiet, datalist')) continue
		const style = getComputedStyle(node), size = parseFloat(style.fontSize)
		const large = size >= 24 || size >= 18.66 && style.fontWeight >= 700
		const has = ratio(parse(style.color).rgb, behind(node))
		if (has < (large ? 3 : 4.5)) poor.add(has.toFixed(2) + ' to 1: ' + text.slice(0, 40) + ' (' + node.className + ')')
	}
	return [...poor]
})()`
