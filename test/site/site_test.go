package site

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// TestSite builds the website and checks it, in a folder with an older and a newer release.
func TestSite(t *testing.T) {
	folder := t.TempDir()
	build(t, folder, "v1.9.0", "BROWSE=https://forge.example/blob/v1.9.0")
	for _, version := range []string{"v1.10.0-rc.1", "v1.10.0", "v1.10.0-3-gabcdef0-dirty"} {
		build(t, folder, version)
	}
	release := filepath.Join(folder, "v1.10.0")

	t.Run("each page of docs is there", func(t *testing.T) {
		for _, page := range files(t, filepath.Join(root, "docs"), "*.md") {
			name := strings.TrimSuffix(filepath.Base(page), ".md") + ".html"
			if name == "README.html" {
				name = "pages.html"
			}
			if _, err := os.Stat(filepath.Join(release, name)); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("no two pages have the same name in the menu", func(t *testing.T) {
		menu, _, _ := strings.Cut(read(t, release, "muxes.html"), "</nav>")
		seen := map[string]bool{}
		for _, name := range regexp.MustCompile(`<li><a href="[^"]*">([^<]*)</a>`).FindAllStringSubmatch(menu, -1) {
			if seen[name[1]] {
				t.Errorf("two pages are called %q: the name is the title up to the colon", name[1])
			}
			seen[name[1]] = true
		}
		if len(seen) < 30 {
			t.Errorf("the menu has %d pages only", len(seen))
		}
	})
	t.Run("links, anchors and pictures have targets, and nothing comes from another host", func(t *testing.T) {
		for _, fault := range slices.Concat(faults(t, release), faults(t, folder)) {
			t.Error(fault)
		}
	})
	t.Run("releases have folders, and readers begin with the newest", func(t *testing.T) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		want := []string{"devel", "index.html", "v1.10.0", "v1.10.0-rc.1", "v1.9.0", "versions.html", "versions.js"}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if text := read(t, folder, "index.html"); !strings.Contains(text, `url=v1.10.0/index.html`) {
			t.Errorf("index.html leads elsewhere: %s", text)
		}
	})
	t.Run("files of the repository are links if the address of the sources is known", func(t *testing.T) {
		const link = `href="https://forge.example/blob/v1.9.0/test/dataplane"`
		if !strings.Contains(read(t, folder, "v1.9.0", "dataplane.html"), link) {
			t.Errorf("no %s", link)
		}
		if text := read(t, release, "dataplane.html"); !strings.Contains(text, `title="In the repository: test/dataplane"`) {
			t.Error("without BROWSE, the page doesn't say where test/dataplane is")
		}
	})
	t.Run("in a browser", func(t *testing.T) {
		server := httptest.NewServer(http.FileServer(http.Dir(folder)))
		t.Cleanup(server.Close)
		look(t, folder, server.URL)
	})
}

// TestSiteOfACheckout builds the website where no release was built before, as after `git clone`.
func TestSiteOfACheckout(t *testing.T) {
	folder := t.TempDir()
	build(t, folder, "abcdef0")
	if text := read(t, folder, "index.html"); !strings.Contains(text, "url=devel/index.html") {
		t.Errorf("index.html leads elsewhere: %s", text)
	}
}

// build builds the website as a user does.
func build(t *testing.T, folder, version string, settings ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "make",
		append([]string{"--no-print-directory", "site", "SITE=" + folder, "VERSION=" + version}, settings...)...)
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
