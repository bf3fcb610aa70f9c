package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestTableBecomesBlocksOnANarrowTerminal(t *testing.T) {
	table := Table{Header: []string{"SERVICE", "PORT", "WHY"}, Rows: [][]string{
		{"shop/web", "443/TCP", "another Service has it"}, {"chat/rooms", "80/TCP", "-"},
	}}
	const asTable = "SERVICE      PORT      WHY\nshop/web     443/TCP   another Service has it\nchat/rooms   80/TCP    -\n"
	const asBlocks = "shop/web\n  port: 443/TCP\n  why: another Service has it\nchat/rooms\n  port: 80/TCP\n  why: -\n"
	for columns, want := range map[int]string{0: asTable, 80: asTable, 45: asTable, 44: asBlocks, 40: asBlocks} {
		var b strings.Builder
		if err := table.PrintAt(&b, columns); err != nil || b.String() != want {
			t.Errorf("%d columns: error %v\n%s", columns, err, b.String())
		}
	}
}

func TestNothingIsColouredWithoutATerminal(t *testing.T) {
	var b strings.Builder
	if got := (Env{Getenv: func(string) string { return "" }}).Paint(&b).Bold("a"); got != "a" {
		t.Errorf("got %q", got)
	}
	if got := (Paint{on: true}).Bold("a"); got != "\x1b[1ma\x1b[0m" {
		t.Errorf("got %q", got)
	}
}

func TestExitCodes(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want int
	}{
		"no error":            {nil, ExitFine},
		"an error":            {errors.New("x"), ExitFailed},
		"a mistake":           {Usagef("-o %s", "x"), ExitUsage},
		"a wrapped mistake":   {fmt.Errorf("reading: %w", Usagef("x")), ExitUsage},
		"a code of a command": {Exit(3), 3},
		"success as a code":   {Exit(ExitFine), ExitFine},
	} {
		if got := ExitCode(tc.err); got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
}

func TestHostileTextCannotHarmATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"shop/web": "shop/web", "\x1b[31m": `"\x1b[31m"`, "a\nb": `"a\nb"`, "": `""`, "\xff": `"\xff"`,
		strings.Repeat("a", 300): `"` + strings.Repeat("a", 200) + `"...`,
	} {
		if got := Shown(text); got != want {
			t.Errorf("Shown(%q) is %s, want %s", text, got, want)
		}
	}
	if got := Sentence("a\n\tb \x1b[31m"); got != "a b \uFFFD[31m" {
		t.Errorf("got %q", got)
	}
}

func TestProgressIsToldAfterASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var quick, slow strings.Builder
		done := Env{Err: &quick}.Progress("reading")
		time.Sleep(patience - time.Millisecond)
		done()
		synctest.Wait()
		done = Env{Err: &slow}.Progress("reading")
		time.Sleep(patience + time.Millisecond)
		synctest.Wait()
		done()
		if quick.String() != "" || slow.String() != "reading ...\n" {
			t.Errorf("after less than a second: %q; after more: %q", quick.String(), slow.String())
		}
	})
}
