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
	"strings"
	"sync/atomic"
	"time"
)

const (
	// gistLines and gistWidth bound the lines of a failed package that the summary repeats.
	gistLines, gistWidth = 60, 400
	// someFailed is the exit code of `go test` for failed tests. Any other code means that `go test` itself failed.
	someFailed = 1
)

// goTest runs `go test`. An interrupt reaches `go test` too, so the outcome is then marked as incomplete.
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
	exit := new(exec.ExitError)
	switch {
	case err == nil:
		return outcome{complete: true}
	case errors.As(err, &exit):
		return outcome{code: max(exit.ExitCode(), 1), complete: report.built && exit.ExitCode() == someFailed &&
			!interrupted.Load(),
			failed: report.failed, gist: report.gist}
	default:
		fmt.Fprintln(out, "again:", err)
		return outcome{code: 1}
	}
}

// report holds the failures that `go test` printed.
type report struct {
	failed []failure
	built  bool // no package failed to build
	gist   []string
}

// read copies the output of `go test` to out, and collects the failures.
func read(out io.Writer, from io.Reader, now func() time.Time) report {
	r := report{built: true}
	telling := regexp.MustCompile(`^\s*(--- FAIL: |panic: |\w+_test\.go:\d+: )`)
	failedTest := regexp.MustCompile(`^--- FAIL: (Test\w*) \(`)
	lines := bufio.NewReader(from)
	var tests []string
	for told, panicked := 0, false; ; {
		line, err := lines.ReadString('\n')
		_, _ = io.WriteString(out, line)
		if telling.MatchString(line) {
			if told++; told <= gistLines {
				r.gist = append(r.gist, cutLine(line))
			}
		}
		panicked = panicked || strings.HasPrefix(line, "panic: ")
		if match := failedTest.FindStringSubmatch(line); match != nil {
			tests = append(tests, match[1])
		}
		if rest, is := strings.CutPrefix(line, "FAIL\t"); is {
			name, took, _ := strings.Cut(strings.TrimSpace(rest), "\t")
			span, wrong := time.ParseDuration(took)
			r.built = r.built && wrong == nil
			if panicked {
				tests = nil // a panic ends the package, so a retry of single tests would miss the others
			}
			r.failed = append(r.failed, failure{name: name, began: now().Add(-span), ended: now(), tests: tests})
			r.gist = append(r.gist, line)
			told, panicked, tests = 0, false, nil
		}
		if err != nil {
			return r
		}
	}
}

func cutLine(line string) string {
	line = strings.TrimSuffix(line, "\n")
	if len(line) > gistWidth {
		line = strings.ToValidUTF8(line[:gistWidth], "") + "..."
	}
	return line + "\n"
}
