// Package long leaves tests to `make long`, which sets LONG.
//
// `make test` must end within a coffee break. A promise that several tests prove keeps the cheapest of them there, and one on real
// parts. Each call of Only names them.
package long

import (
	"os"
	"testing"
)

// Runs is true in `make long`.
func Runs() bool { return os.Getenv("LONG") != "" }

// Only skips a test in `make test`. The reason names the test that sees the same promise there.
func Only(t testing.TB, instead string) {
	t.Helper()
	if !Runs() {
		t.Skip("LONG isn't set, as in make long; in make test: " + instead)
	}
}
