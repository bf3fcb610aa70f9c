package process

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"go.uber.org/zap/zapcore"
)

// TestAnOrdinaryEndIsNoError, and everything else that goes wrong is one.
func TestAnOrdinaryEndIsNoError(t *testing.T) {
	for name, tc := range map[string]struct {
		err     error
		message string
		want    string
	}{
		"the lease is given back":                 {errors.New(lostLease), afterStop, "info"},
		"the lease is lost at another time":       {errors.New(lostLease), "the manager failed", "error"},
		"something else goes wrong at the end":    {errors.New("a runnable hangs"), afterStop, "error"},
		"something goes wrong without being told": {nil, afterStop, "error"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			newLog(zapcore.InfoLevel, &out).WithName("a").WithValues("b", "c").Error(tc.err, tc.message)
			var line struct{ Level, Logger, B string }
			if err := json.Unmarshal([]byte(out.String()), &line); err != nil {
				t.Fatalf("%q: %v", out.String(), err)
			}
			if line.Level != tc.want || line.Logger != "a" || line.B != "c" {
				t.Errorf("it is told as %s", out.String())
			}
		})
	}
}
