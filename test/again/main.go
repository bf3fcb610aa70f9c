// Command again runs `go test`, and retries single tests that failed while the machine stood still:
//
//	again [FLAGS OF GO TEST] -- PACKAGES
//
// Tests in test/ set no time limits of their own. Kubernetes does: probes, leases and webhook calls expire after some
// seconds. A machine that stands still for that long fails such a test, although neither the test nor the product is
// wrong.
//
// So again measures standstills. If the machine stood still while a package ran, again retries the package's failed
// tests once, each alone. It retries only a few tests, and no package that didn't compile, panicked or timed out. At
// the end it lists every retry, and repeats the failures in short, because the logs of clusters are long.
//
// AGAIN_HISTORY names a file in which again keeps the retries of the last ten runs. A run fails if it retries a test
// for the second time in ten runs, even if the retry passes.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// mostRetries bounds the retried tests: a slow machine doesn't explain more failures than that.
const mostRetries = 3

func main() {
	flags, packages, found := cut(os.Args[1:])
	if !found || len(packages) == 0 {
		fmt.Fprintln(os.Stderr, "usage: again [FLAGS OF GO TEST] -- PACKAGES")
		os.Exit(2)
	}
	os.Exit(run(os.Stdout, flags, packages, goTest, watch(), os.Getenv("AGAIN_HISTORY")))
}

func cut(args []string) (flags, packages []string, found bool) {
	i := slices.Index(args, "--")
	if i < 0 {
		return nil, nil, false
	}
	return args[:i], args[i+1:], true
}

// failure is a package that failed, the time it ran, and its failed top-level tests.
type failure struct {
	name         string
	began, ended time.Time
	tests        []string
}

// outcome is the result of one `go test`.
type outcome struct {
	code int
	// complete is true if every package was built and no signal interrupted the run.
	complete bool
	failed   []failure
	gist     []string // the lines that name the failed tests and their reasons
}

// retry is a test that runs a second time.
type retry struct {
	pkg, test string
	passed    bool
}

func (r retry) String() string { return r.pkg + "." + r.test }

// A tester runs `go test`.
type tester func(out io.Writer, args []string) outcome

// run runs the tests and the retries, and returns the exit code.
func run(out io.Writer, flags, packages []string, test tester, strainsSoFar func() strains, history string) int {
	first := test(out, append(slices.Clone(flags), packages...))
	seen := strainsSoFar()
	fmt.Fprintln(out, "again:", seen)
	code, gist := first.code, first.gist
	retries := choose(out, first, seen)
	if len(retries) > 0 {
		code = 0
	}
	for i := range retries {
		r := &retries[i]
		second := test(out, append(slices.Clone(flags), "-p", "1", "-run", "^"+r.test+"$", r.pkg))
		r.passed = second.code == 0
		code, gist = max(code, second.code), append(gist, second.gist...)
	}
	if len(gist) > 0 {
		fmt.Fprintf(out, "again: in short, what failed:\n%s", strings.Join(gist, ""))
	}
	for _, r := range retries {
		result := "failed a second time"
		if r.passed {
			result = "passed the second time"
		}
		fmt.Fprintf(out, "again: retried %s of %s: it %s\n", r.test, r.pkg, result)
	}
	if !judge(out, history, time.Now(), retries) {
		code = max(code, someFailed)
	}
	return code
}

// choose returns either all failed tests, to retry them, or none.
func choose(out io.Writer, first outcome, seen strains) []retry {
	if first.code == 0 || !first.complete {
		return nil
	}
	var retries []retry
	for _, failed := range first.failed {
		if len(failed.tests) == 0 || !seen.during(failed.began, failed.ended) {
			return nil
		}
		for _, test := range failed.tests {
			retries = append(retries, retry{pkg: failed.name, test: test})
		}
	}
	if len(retries) > mostRetries {
		fmt.Fprintf(out, "again: %d tests failed: a slow machine doesn't explain that, so none is retried\n", len(retries))
		return nil
	}
	return retries
}
