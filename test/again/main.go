// Command again runs `go test`, and what failed once more if the machine had no time for it:
//
//	again [FLAGS OF GO TEST] -- PACKAGES
//
// Tests here wait for things to happen, and say nothing of how long that takes. Kubernetes does: probes, leases and calls of
// webhooks are given up after some seconds, and what a test then sees is true, and no fault of what is tested. So the machine is
// watched: packages that fail, each while it stood still or its host took it away, are played again, one after the other, and have to
// pass. If one fails on a machine that had time, that's that.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// few is how many packages may have failed to be played again: what fails everywhere doesn't need a machine for it.
const few = 3

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
}

// a tester runs `go test`.
type tester func(out io.Writer, args []string) outcome

// play returns the code to end with.
func play(out io.Writer, flags, packages []string, test tester, looked func() strains) int {
	first := test(out, append(slices.Clone(flags), packages...))
	strains := looked()
	fmt.Fprintln(out, "again:", strains)
	if first.code == 0 || !first.whole || len(first.failed) == 0 {
		return first.code
	}
	var names []string
	for _, failed := range first.failed {
		if !strains.during(failed.began, failed.ended) {
			return first.code
		}
		names = append(names, failed.name)
	}
	if len(names) > few {
		fmt.Fprintf(out, "again: %d packages failed: that isn't the machine's fault alone\n", len(names))
		return first.code
	}
	fmt.Fprintf(out, "again: that was while these failed, so they are played again, one after the other: %s\n", strings.Join(names, " "))
	return test(out, append(append(slices.Clone(flags), "-p", "1"), names...)).code
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
	failed, built := read(out, lines, time.Now)
	err = cmd.Wait()
	const someFailed = 1 // any other code says that go test itself came to an end
	exit := new(exec.ExitError)
	switch {
	case err == nil:
		return outcome{whole: true}
	case errors.As(err, &exit):
		return outcome{code: max(exit.ExitCode(), 1), whole: built && exit.ExitCode() == someFailed && !interrupted.Load(), failed: failed}
	default:
		fmt.Fprintln(out, "again:", err)
		return outcome{code: 1}
	}
}

// read passes on what go test prints, and picks the packages that failed; built is false if one couldn't be played at all.
func read(out io.Writer, from io.Reader, now func() time.Time) (failed []failure, built bool) {
	built = true
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		_, _ = io.WriteString(out, line)
		if rest, is := strings.CutPrefix(line, "FAIL\t"); is {
			name, took, _ := strings.Cut(strings.TrimSpace(rest), "\t")
			span, wrong := time.ParseDuration(took)
			built = built && wrong == nil
			failed = append(failed, failure{name: name, began: now().Add(-span), ended: now()})
		}
		if err != nil {
			return failed, built
		}
	}
}
