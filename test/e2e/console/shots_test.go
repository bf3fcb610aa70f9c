package console

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"nowake.ai/svc-lb-mux/test/browser"
)

// TestShots writes pictures of every page into the folder CONSOLE_SHOTS. They help to change the pages' design, and are
// used in the docs.
func TestShots(t *testing.T) {
	folder := os.Getenv("CONSOLE_SHOTS")
	if folder == "" {
		t.Skip("CONSOLE_SHOTS isn't set")
	}
	w := start(t)
	r := w.reconcile(t)
	w.shop(t)
	b := open(t, "http://"+r.address)
	b.live()
	b.Until("its channels", `document.querySelectorAll('.card').length > 3`)
	pages := map[string]string{
		"overview": "#/", "mux": "#/mux/infra/edge", "big": "#/mux/infra/internal", "channel": "#/service/shop/web",
		"refused": "#/service/payments/clash", "ask": "#/service", "timeline": "#/timeline", "missing": "#/mux/infra/nowhere",
	}
	for name, hash := range pages {
		for _, like := range []string{"light", "dark"} {
			for size, width := range map[string]int64{"wide": 1440, "narrow": 420} {
				if size == "narrow" && like == "dark" {
					continue
				}
				b.Do(browser.Scheme(like), chromedp.EmulateViewport(width, 900))
				b.goTo("#/none")
				b.goTo(hash)
				b.Until("the page", `document.querySelector('main h1') && `+
					`(!location.hash.startsWith('#/service/') || document.querySelector('.chain'))`)
				shoot(t, b, filepath.Join(folder, name+"-"+like+"-"+size+".png"))
			}
		}
	}
}

// shoot writes a picture of the page into a file.
func shoot(t *testing.T, b *tab, file string) {
	t.Helper()
	b.Do(chromedp.Sleep(150 * time.Millisecond))
	picture, err := chromedp.Run(b.Context, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, picture, 0o644); err != nil {
		t.Fatal(err)
	}
}
