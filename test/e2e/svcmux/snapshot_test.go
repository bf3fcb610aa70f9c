package svcmux

import (
	"path/filepath"
	"strings"
	"testing"
)

// testSnapshot takes a snapshot with each user's rights, and compares commands with the cluster.
func testSnapshot(t *testing.T, w *world) {
	for _, user := range []string{admin, tenant} {
		path := filepath.Join(t.TempDir(), "snapshot.json.gz")
		w.expect(t, user+" takes a snapshot", want{out: path + " has "}, w.run(t, "", user, "snapshot", "-n", "shop", path))
		for _, args := range [][]string{{"ports", "-o", "wide"}, {"explain", "shop/store"},
			{"plan", "-f", "-"}, {"version"}} {
			live, again := w.run(t, planned, user, append(args, "-n", "shop")...), w.run(t, planned, user,
				append(args, "-n", "shop", "--snapshot", path)...)
			if live.Code != again.Code || !sameButAges(live.Out, again.Out) {
				t.Errorf("%s, %q: exit code %d from the cluster, and %d from the snapshot:\n%s\n%s", user, args, live.Code,
					again.Code, live.Out, again.Out)
			}
		}
	}
	w.expect(t, "no rights", want{code: 1, err: `services is forbidden: User "nobody"`, silent: true},
		w.run(t, "", nobody, "snapshot", filepath.Join(t.TempDir(), "a")))
}

// sameButAges compares outputs without words that begin with a number and end with a unit of time, such as 12s.
func sameButAges(a, b string) bool {
	words := func(text string) string {
		var kept []string
		for _, word := range strings.Fields(text) {
			if number := strings.TrimRight(word, "smhd"); number == word || strings.Trim(number, "0123456789smhd") != "" {
				kept = append(kept, word)
			}
		}
		return strings.Join(kept, " ")
	}
	return words(a) == words(b)
}
