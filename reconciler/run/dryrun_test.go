package run

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestDiaryPrintsOnlyChanges checks that the same plan at another time isn't printed again.
func TestDiaryPrintsOnlyChanges(t *testing.T) {
	var out strings.Builder
	d := &printLog{out: &out, last: map[string]string{}}
	for _, note := range []struct {
		about, text string
		nothing     bool
	}{
		{"idle", "nothing to do\n", true},
		{"a", "held until 2026-01-02T03:04:05Z\n", false},
		{"b", "held until 2026-01-02T03:04:05Z\n", false},
		{"a", "held until 2026-01-02T03:04:06.5Z\n", false},
		{"a", "given\n", false},
		{"a", "nothing to do\n", true},
		{"a", "nothing to do\n", true},
		{"a", "given\n", false},
	} {
		d.note(note.about, note.text, note.nothing)
	}
	want := []string{
		"dry run: held until 2026-01-02T03:04:05Z", // mux a
		"dry run: held until 2026-01-02T03:04:05Z", // mux b
		"dry run: given", "dry run: nothing to do", "dry run: given", "",
	}
	if diff := cmp.Diff(want, strings.Split(out.String(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDiaryWaitsUntilATextSettles prints a plan that grows, as at the start of a process, and a plan that stays the
// same.
func TestDiaryWaitsUntilATextSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		d := &printLog{out: &out, settled: time.Second, last: map[string]string{}, waiting: map[string]*paragraph{}}
		for _, text := range []string{"one channel\n", "two channels\n", "three channels\n"} {
			d.note("a", text, false)
			time.Sleep(900 * time.Millisecond)
			d.note("b", "the same\n", false)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		d.note("a", "no channel\n", false)
		time.Sleep(time.Second)
		synctest.Wait()
		want := "dry run: the same\ndry run: three channels\ndry run: no channel\n"
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
