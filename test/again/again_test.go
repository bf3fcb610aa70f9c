package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestWhatIsPlayedAgain(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2030, 1, 1, 0, minute, 0, 0, time.UTC) }
	failed := func(names ...string) (all []failure) {
		for _, name := range names {
			all = append(all, failure{name: name, began: at(10), ended: at(20)})
		}
		return all
	}
	then, earlier := strain{from: at(19), to: at(21), still: stood}, strain{from: at(1), to: at(9), taken: taken}
	for name, c := range map[string]struct {
		outcomes []outcome // of each time
		strains  []strain
		want     int
	}{
		"all is well":                       {outcomes: []outcome{{whole: true}}, strains: []strain{then}, want: 0},
		"a machine that had time":           {outcomes: []outcome{{code: 1, whole: true, failed: failed("a")}}, want: 1},
		"a machine that had time by then":   {outcomes: []outcome{{code: 1, whole: true, failed: failed("a")}}, strains: []strain{earlier}, want: 1},
		"a machine that stood still":        {outcomes: []outcome{{code: 1, whole: true, failed: failed("a", "b")}, {whole: true}}, strains: []strain{earlier, then}, want: 0},
		"a host that took the machine away": {outcomes: []outcome{{code: 1, whole: true, failed: failed("a")}, {whole: true}}, strains: []strain{{from: at(5), to: at(11), taken: taken}}, want: 0},
		"who fails twice has failed":        {outcomes: []outcome{{code: 1, whole: true, failed: failed("a")}, {code: 1}}, strains: []strain{then}, want: 1},
		"nothing compiles":                  {outcomes: []outcome{{code: 2}}, strains: []strain{then}, want: 2},
		"somebody interrupts it":            {outcomes: []outcome{{code: 1, failed: failed("a")}}, strains: []strain{then}, want: 1},
		"all over the place":                {outcomes: []outcome{{code: 1, whole: true, failed: failed("a", "b", "c", "d")}}, strains: []strain{then}, want: 1},
		"one of two had time": {
			outcomes: []outcome{{code: 1, whole: true, failed: append(failed("a"), failure{name: "b", began: at(30), ended: at(40)})}},
			strains:  []strain{then}, want: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var runs [][]string
			test := func(_ io.Writer, args []string) outcome {
				runs = append(runs, args)
				return c.outcomes[len(runs)-1]
			}
			var seen strains
			for _, one := range c.strains {
				seen.add(one)
			}
			if got := play(io.Discard, []string{"-v"}, []string{"./..."}, test, func() strains { return seen }); got != c.want {
				t.Errorf("it ends with %d, want %d", got, c.want)
			}
			want := [][]string{{"-v", "./..."}, {"-v", "-p", "1"}}
			for _, failed := range c.outcomes[0].failed {
				want[1] = append(want[1], failed.name)
			}
			if !slices.EqualFunc(runs, want[:len(c.outcomes)], slices.Equal) {
				t.Errorf("it runs %q, want %q", runs, want[:len(c.outcomes)])
			}
		})
	}
}

func TestStrainsThatExcuseNothing(t *testing.T) {
	var seen strains
	seen.add(strain{to: time.Now(), still: stood - 1})
	seen.add(strain{to: time.Now(), taken: taken - 1})
	if len(seen.all) > 0 || seen.worst.still != stood-1 || seen.worst.taken != taken-1 {
		t.Errorf("it has %+v", seen)
	}
}

func TestFailedPackagesAreRead(t *testing.T) {
	const ran = "ok  \texample.com/a\t0.1s\n--- FAIL: TestB (0.00s)\nFAIL\nFAIL\texample.com/b\t0.2s\nFAIL\texample.com/c\t61.500s\nFAIL\n"
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	b := failure{name: "example.com/b", began: now.Add(-200 * time.Millisecond), ended: now}
	c := failure{name: "example.com/c", began: now.Add(-61500 * time.Millisecond), ended: now}
	for text, want := range map[string]struct {
		failed []failure
		built  bool
	}{
		ran: {failed: []failure{b, c}, built: true},
		ran + "FAIL\texample.com/d [build failed]\n": {failed: []failure{b, c, {name: "example.com/d [build failed]", began: now, ended: now}}},
		"ok  \texample.com/a\t0.1s\nno end of line":  {built: true},
	} {
		var out strings.Builder
		got := read(&out, strings.NewReader(text), func() time.Time { return now })
		if !slices.Equal(got.failed, want.failed) || got.built != want.built {
			t.Errorf("of %q: %v, %t; want %v, %t", text, got.failed, got.built, want.failed, want.built)
		}
		if out.String() != text {
			t.Errorf("%q is passed on as %q", text, out.String())
		}
	}
}

func TestWhatFailedIsToldInShort(t *testing.T) {
	const printed = `--- FAIL: TestB (0.00s)
    --- FAIL: TestB/c (0.00s)
        b_test.go:7: one, and
            a second line of it
        cluster.go:184: the end of a log, and many more
            2030-01-01 --- FAIL: not here
FAIL
FAIL	example.com/b	0.2s
ok  	example.com/c	0.2s
panic: no reason
FAIL	example.com/d	0.3s
`
	const want = `--- FAIL: TestB (0.00s)
    --- FAIL: TestB/c (0.00s)
        b_test.go:7: one, and
FAIL	example.com/b	0.2s
panic: no reason
FAIL	example.com/d	0.3s
`
	got := read(io.Discard, strings.NewReader(printed), time.Now).gist
	if text := strings.Join(got, ""); text != want {
		t.Errorf("it tells:\n%s\nand should tell:\n%s", text, want)
	}
	var out strings.Builder
	test := func(io.Writer, []string) outcome { return outcome{code: 1, whole: true, gist: got} }
	if play(&out, nil, []string{"./..."}, test, func() strains { return strains{} }); !strings.HasSuffix(out.String(), "what failed:\n"+want) {
		t.Errorf("it ends with:\n%s", out.String())
	}
}

func TestWhatIsShortIsShort(t *testing.T) {
	long := "    a_test.go:1: " + strings.Repeat("é", width) + "\n"
	got := read(io.Discard, strings.NewReader(strings.Repeat(long, 3*short)+"FAIL\tx\t1s\n"+long), time.Now).gist
	if len(got) != short+2 {
		t.Errorf("it tells %d lines of %d", len(got), 3*short+2)
	}
	if line := got[0]; len(line) > width+4 || !strings.HasSuffix(line, "é...\n") {
		t.Errorf("a line of %d bytes is told as %q", len(long), line)
	}
}

func TestTimes(t *testing.T) {
	before, after := "cpu  100 10 50 1000 7 1 2 30 0 0\ncpu0 1 1 1\n", "cpu  110 10 60 9000 9 1 2 90 0 0\n"
	if got := parseTimes(after).since(parseTimes(before)).share(); got != 75 {
		t.Errorf("60 ticks were stolen beside 20: that is %d %%", got)
	}
	for _, text := range []string{"", "cpu 1 2 3", "cpu a b c d e f g h", "intr 1 2 3 4 5 6 7 8 9"} {
		if got := parseTimes(text); got != (times{}) || got.share() != 0 {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

// TestWatchSeesAStandstill stops another process of this test for a while, and lets it go on.
func TestWatchSeesAStandstill(t *testing.T) {
	if os.Getenv("WATCHES") != "" {
		looked := watch()
		fmt.Println("watching")
		_, _ = io.Copy(io.Discard, os.Stdin)
		seen := looked()
		fmt.Println(int64(seen.worst.still), seen.during(time.Now().Add(-time.Minute), time.Now()))
		return
	}
	watcher := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$") //nolint:gosec // this test again
	watcher.Env = append(os.Environ(), "WATCHES=yes")
	stdin, err := watcher.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := watcher.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watcher.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = watcher.Process.Kill() })
	lines := bufio.NewScanner(stdout)
	lines.Scan()
	for _, step := range []func() error{
		func() error { return watcher.Process.Signal(syscall.SIGSTOP) },
		func() error { time.Sleep(stood + 2*look); return nil },
		func() error { return watcher.Process.Signal(syscall.SIGCONT) },
		func() error { time.Sleep(2 * look); return nil },
		stdin.Close,
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	lines.Scan()
	var still time.Duration
	var excused bool
	if _, err := fmt.Sscan(lines.Text(), &still, &excused); err != nil || still < stood || !excused {
		t.Errorf("it stood still for %s, and saw %q, %v", stood, lines.Text(), err)
	}
	if err := watcher.Wait(); err != nil {
		t.Error(err)
	}
}
