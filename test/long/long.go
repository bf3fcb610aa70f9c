// Package long leaves tests to `make long`, which sets LONG.
//
// `make test` must end within a coffee break. If several tests prove a promise, it runs the cheapest of them, and one
// with real parts. Each call of Only names these tests.
package long

import (
	"os"
	"testing"
)

// Runs is true in `make long`.
func Runs() bool { return os.Getenv("LONG") != "" }

// Only skips a test in `make test`. instead names the test that proves the same promise there.
func Only(t testing.TB, instead string) {
	t.Helper()
	if !Runs() {
		t.Skip("LONG isn't set, as in make long; in make test: " + instead)
	}
}
