package console

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"

	"nowake.ai/svc-lb-mux/test/browser"
)

// readable checks every page for accessibility: the tree that screen readers use, and the contrast of colours.
func readable(t *testing.T, b *tab) {
	for _, hash := range []string{"#/", "#/mux/infra/edge", "#/mux/infra/paused", "#/service/shop/web",
		"#/service/payments/clash", "#/service", "#/timeline"} {
		b.goTo(hash)
		b.Until("the page",
			`document.querySelector('main h1') && (!location.hash.startsWith('#/service/') || document.querySelector('.chain'))`)
		heard(t, b, hash)
		for _, like := range []string{"light", "dark"} {
			b.Do(browser.Scheme(like))
			for _, poor := range b.Poor() {
				t.Errorf("%s, %s: %s", hash, like, poor)
			}
		}
	}
	for _, wrong := range browser.Evaluate[[]string](b.Tab, structure) {
		t.Error(wrong)
	}
	b.Do(chromedp.EmulateViewport(360, 800))
	for _, hash := range []string{"#/", "#/mux/infra/edge", "#/service/shop/web", "#/timeline"} {
		b.goTo(hash)
		b.Until("the page", `document.querySelector('main h1')`)
		if wide := browser.Evaluate[int](b.Tab, `document.documentElement.scrollWidth`); wide > 360 {
			t.Errorf("%s is %d wide on a screen of 360", hash, wide)
		}
	}
	b.Do(chromedp.EmulateViewport(1440, 900))
}

// heard checks that everything reachable has a name, and that the page has its landmarks.
func heard(t *testing.T, b *tab, hash string) {
	t.Helper()
	tree, err := chromedp.Call(b.Context, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		t.Fatal(err)
	}
	named := []string{"link", "button", "searchbox", "textbox", "combobox", "slider", "list", "image", "navigation",
		"region", "table", "heading"}
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
