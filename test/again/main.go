// Command again runs `go test`, and what failed once more if the machine had no time for it:
//
//	again [FLAGS OF GO TEST] -- PACKAGES
//
// Tests here wait for things to happen, and say nothing of how long that takes. Kubernetes does: probes, leases and calls of
// webhooks are given up after some seconds, and what a test then sees is true, and no fault of what is tested. So the machine is
// watched: packages that fail, each while it stood still or its host took it away, are played again, one after the other, and have to
// pass. If one fails on a machine that had time, that's that. What failed is told once more at the end, in short: the logs of
// clusters are long.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// few is how many packages may have failed to be played again: what fails everywhere doesn't need a machine for it.
	few = 3
	// short is how many lines are told once more of a package, and width how much of each.
	short, width = 60, 400
)

func main() {
	flags, packages, found := cut(os.Args[1:])
	if !found || len(packages) == 0 {
		fmt.Fprintln(os.Stderr, "usage: again [FLAGS OF GO TEST] -- PACKAGES")
		os.Exit(2)
	}
	os.Exit(play(os.Stdout, flags, packages, goTest, watch()))
}

func cut(args []string) (flags, packages []string, found bool) {
	i := slices.Index(args, "--")
	if i < 0 {
		return nil, nil, false
	}
	return args[:i], args[i+1:], true
}

// failure is a package that failed, and when it was played.
type failure struct {
	name         string
	began, ended time.Time
}

// outcome is what `go test` came to.
type outcome struct {
	code   int
	whole  bool // every package was built and played to its end
	failed []failure
	gist   []string // the lines that say which tests failed, and why
}

// a tester runs `go test`.
type tester func(out io.Writer, args []string) outcome

// play returns the code to end with.
func play(out io.Writer, flags, packages []string, test tester, looked func() strains) int {
	last := playTwice(out, flags, packages, test, looked)
	if len(last.gist) > 0 {
		fmt.Fprintf(out, "again: in short, what failed:\n%s", strings.Join(last.gist, ""))
	}
	return last.code
}

// playTwice returns what the last time came to, if there is more than one.
func playTwice(out io.Writer, flags, packages []string, test tester, looked func() strains) outcome {
	first := test(out, append(slices.Clone(flags), packages...))
	strains := looked()
	fmt.Fprintln(out, "again:", strains)
	if first.code == 0 || !first.whole || len(first.failed) == 0 {
		return first
	}
	var names []string
	for _, failed := range first.failed {
		if !strains.during(failed.began, failed.ended) {
			return first
		}
		names = append(names, failed.name)
	}
	if len(names) > few {
		fmt.Fprintf(out, "again: %d packages failed: that isn't the machine's fault alone\n", len(names))
		return first
	}
	fmt.Fprintf(out, "again: that was while these failed, so they are played again, one after the other: %s\n", strings.Join(names, " "))
	return test(out, append(append(slices.Clone(flags), "-p", "1"), names...))
}

// goTest isn't whole if somebody interrupted it: go test, who hears that, too, ends what it began.
func goTest(out io.Writer, args []string) outcome {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer func() { signal.Stop(interrupts); close(interrupts) }()
	var interrupted atomic.Bool
	go func() {
		for range interrupts {
			interrupted.Store(true)
		}
	}()

	cmd := exec.Command("go", append([]string{"test"}, args...)...) //nolint:gosec // the caller's own flags
	cmd.Stderr = os.Stderr
	lines, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(out, "again:", err)
		return outcome{code: 1}
	}
	report := read(out, lines, time.Now)
	err = cmd.Wait()
	const someFailed = 1 // any other code says that go test itself came to an end
	exit := new(exec.ExitError)
	switch {
	case err == nil:
		return outcome{whole: true}
	case errors.As(err, &exit):
		return outcome{code: max(exit.ExitCode(), 1), whole: report.built && exit.ExitCode() == someFailed && !interrupted.Load(),
			failed: report.failed, gist: report.gist}
	default:
		fmt.Fprintln(out, "again:", err)
		return outcome{code: 1}
	}
}

// report is what go test printed, as far as it matters here.
type report struct {
	failed []failure
	built  bool // no package is among them that couldn't be played at all
	gist   []string
}

// read passes on what go test prints.
func read(out io.Writer, from io.Reader, now func() time.Time) report {
	r := report{built: true}
	saying := regexp.MustCompile(`^\s*(--- FAIL: |panic: |\w+_test\.go:\d+: )`)
	lines := bufio.NewReader(from)
	for said := 0; ; {
		line, err := lines.ReadString('\n')
		_, _ = io.WriteString(out, line)
		if saying.MatchString(line) {
			if said++; said <= short {
				r.gist = append(r.gist, cutLine(line))
			}
		}
		if rest, is := strings.CutPrefix(line, "FAIL\t"); is {
			name, took, _ := strings.Cut(strings.TrimSpace(rest), "\t")
			span, wrong := time.ParseDuration(took)
			r.built = r.built && wrong == nil
			r.failed = append(r.failed, failure{name: name, began: now().Add(-span), ended: now()})
			r.gist = append(r.gist, line)
			said = 0
		}
		if err != nil {
			return r
		}
	}
}

func cutLine(line string) string {
	line = strings.TrimSuffix(line, "\n")
	if len(line) > width {
		line = strings.ToValidUTF8(line[:width], "") + "..."
	}
	return line + "\n"
}
