package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRetries(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2030, 1, 1, 0, minute, 0, 0, time.UTC) }
	failed := func(pkg string, tests ...string) failure {
		return failure{name: pkg, began: at(10), ended: at(20), tests: tests}
	}
	first := func(failures ...failure) outcome { return outcome{code: 1, complete: true, failed: failures} }
	pass, fail := outcome{complete: true}, outcome{code: 1, complete: true}
	during, before := strain{from: at(19), to: at(21), still: stood}, strain{from: at(1), to: at(9), taken: taken}
	later := failure{name: "b", began: at(30), ended: at(40), tests: []string{"TestB"}}
	for name, c := range map[string]struct {
		outcomes []outcome // of the `go test` runs, in order
		strains  []strain
		want     int
		retried  []string
	}{
		"every test passes":             {outcomes: []outcome{pass}, strains: []strain{during}},
		"the machine never stood still": {outcomes: []outcome{first(failed("a", "TestA"))}, want: 1},
		"the machine stood still before": {outcomes: []outcome{first(failed("a", "TestA"))}, strains: []strain{before},
			want: 1},
		"the machine stood still, retry passes": {outcomes: []outcome{first(failed("a", "TestA")), pass},
			strains: []strain{during}, retried: []string{"TestA a"}},
		"the host took the machine away": {outcomes: []outcome{first(failed("a", "TestA")), pass},
			strains: []strain{{from: at(5), to: at(11), taken: taken}}, retried: []string{"TestA a"}},
		"the retry fails": {outcomes: []outcome{first(failed("a", "TestA")), fail},
			strains: []strain{during}, want: 1, retried: []string{"TestA a"}},
		"one retry of two fails": {outcomes: []outcome{first(failed("a", "TestA", "TestB")), fail, pass},
			strains: []strain{during}, want: 1,
			retried: []string{"TestA a", "TestB a"}},
		"tests of two packages": {outcomes: []outcome{first(failed("a", "TestA"), failed("b", "TestB")), pass, pass},
			strains: []strain{during},
			retried: []string{"TestA a", "TestB b"}},
		"only one of two packages is excused": {outcomes: []outcome{first(failed("a", "TestA"), later)},
			strains: []strain{during}, want: 1},
		"a package doesn't compile":      {outcomes: []outcome{{code: 2}}, strains: []strain{during}, want: 2},
		"a package fails without a test": {outcomes: []outcome{first(failed("a"))}, strains: []strain{during}, want: 1},
		"a person interrupts it": {outcomes: []outcome{{code: 1, failed: []failure{failed("a", "TestA")}}},
			strains: []strain{during}, want: 1},
		"too many tests fail": {outcomes: []outcome{first(failed("a", "TestA", "TestB", "TestC", "TestD"))},
			strains: []strain{during}, want: 1},
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
			var out strings.Builder
			if got := run(&out, []string{"-v"}, []string{"./..."}, test, func() strains { return seen }, ""); got != c.want {
				t.Errorf("the exit code is %d, want %d", got, c.want)
			}
			want := [][]string{{"-v", "./..."}}
			for _, retried := range c.retried {
				name, pkg, _ := strings.Cut(retried, " ")
				want = append(want, []string{"-v", "-p", "1", "-run", "^" + name + "$", pkg})
				if listed := "again: retried " + name + " of " + pkg; !strings.Contains(out.String(), listed) {
					t.Errorf("the last lines don't name %q:\n%s", listed, out.String())
				}
			}
			if !slices.EqualFunc(runs, want, slices.Equal) {
				t.Errorf("runs are %q, want %q", runs, want)
			}
		})
	}
}

func TestShortStandstillsExcuseNothing(t *testing.T) {
	var seen strains
	seen.add(strain{to: time.Now(), still: stood - 1})
	seen.add(strain{to: time.Now(), taken: taken - 1})
	if len(seen.all) > 0 || seen.worst.still != stood-1 || seen.worst.taken != taken-1 {
		t.Errorf("strains below the limits are kept as %+v, want only the worst values", seen)
	}
}

func TestFailedPackagesAreRead(t *testing.T) {
	const ran = "ok  \texample.com/a\t0.1s\n--- FAIL: TestB " +
		"(0.00s)\nFAIL\nFAIL\texample.com/b\t0.2s\nFAIL\texample.com/c\t61.500s\nFAIL\n"
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	b := failure{name: "example.com/b", began: now.Add(-200 * time.Millisecond), ended: now, tests: []string{"TestB"}}
	c := failure{name: "example.com/c", began: now.Add(-61500 * time.Millisecond), ended: now}
	for text, want := range map[string]struct {
		failed []failure
		built  bool
	}{
		ran: {failed: []failure{b, c}, built: true},
		ran + "FAIL\texample.com/d [build failed]\n": {
			failed: []failure{b, c, {name: "example.com/d [build failed]", began: now, ended: now}}},
		"ok  \texample.com/a\t0.1s\nno end of line": {built: true},
		"--- FAIL: TestD (0.1s)\n    --- FAIL: TestD/e (0.1s)\n--- FAIL: TestF (0s)\nFAIL\texample.com/d\t0.2s\n": {
			failed: []failure{{name: "example.com/d", began: b.began, ended: now, tests: []string{"TestD", "TestF"}}},
			built:  true,
		},
		"--- FAIL: TestD (0.1s)\npanic: test timed out\nFAIL\texample.com/d\t0.2s\n": {
			failed: []failure{{name: "example.com/d", began: b.began, ended: now}}, built: true,
		},
	} {
		var out strings.Builder
		got := read(&out, strings.NewReader(text), func() time.Time { return now })
		if !reflect.DeepEqual(got.failed, want.failed) || got.built != want.built {
			t.Errorf("reading %q: failures %v, built %t; want %v, %t", text, got.failed, got.built, want.failed, want.built)
		}
		if out.String() != text {
			t.Errorf("%q is copied as %q", text, out.String())
		}
	}
}

func TestSummaryRepeatsFailedTestsAndReasons(t *testing.T) {
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
		t.Errorf("the summary is:\n%s\nwant:\n%s", text, want)
	}
	var out strings.Builder
	test := func(io.Writer, []string) outcome { return outcome{code: 1, complete: true, gist: got} }
	if run(&out, nil, []string{"./..."}, test, func() strains { return strains{} }, ""); !strings.HasSuffix(out.String(),
		"what failed:\n"+want) {
		t.Errorf("the output doesn't end with the summary:\n%s", out.String())
	}
}

func TestSummaryIsBounded(t *testing.T) {
	long := "    a_test.go:1: " + strings.Repeat("é", gistWidth) + "\n"
	got := read(io.Discard, strings.NewReader(strings.Repeat(long, 3*gistLines)+"FAIL\tx\t1s\n"+long), time.Now).gist
	if len(got) != gistLines+2 {
		t.Errorf("the summary has %d lines, want %d", len(got), 3*gistLines+2)
	}
	if line := got[0]; len(line) > gistWidth+4 || !strings.HasSuffix(line, "é...\n") {
		t.Errorf("a line of %d bytes is shortened to %q", len(long), line)
	}
}

func TestProcessorTimesAreParsed(t *testing.T) {
	before, after := "cpu  100 10 50 1000 7 1 2 30 0 0\ncpu0 1 1 1\n", "cpu  110 10 60 9000 9 1 2 90 0 0\n"
	if got := parseTimes(after).since(parseTimes(before)).share(); got != 75 {
		t.Errorf("60 of 80 ticks were stolen: got %d %%, want 75 %%", got)
	}
	for _, text := range []string{"", "cpu 1 2 3", "cpu a b c d e f g h", "intr 1 2 3 4 5 6 7 8 9"} {
		if got := parseTimes(text); got != (times{}) || got.share() != 0 {
			t.Errorf("%q is parsed as %+v, want zero values", text, got)
		}
	}
}

// TestWatchSeesAStandstill stops another process that runs this test, continues it, and reads the standstill it
// measured.
func TestWatchSeesAStandstill(t *testing.T) {
	if os.Getenv("WATCHES") != "" {
		looked := watch()
		fmt.Println("watching")
		_, _ = io.Copy(io.Discard, os.Stdin)
		seen := looked()
		fmt.Println(int64(seen.worst.still), seen.during(time.Now().Add(-time.Minute), time.Now()))
		return
	}
	watcher := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$") //nolint:gosec // the same test binary
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
		t.Errorf("stopped for %s, but the watcher measured %q, %v", stood, lines.Text(), err)
	}
	if err := watcher.Wait(); err != nil {
		t.Error(err)
	}
}
