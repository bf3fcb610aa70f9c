package run

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"go.uber.org/zap/zapcore"
)

// TestOrdinaryEndIsNotAnError checks that every other failure is logged as an error.
func TestOrdinaryEndIsNotAnError(t *testing.T) {
	for name, tc := range map[string]struct {
		err     error
		message string
		want    string
	}{
		"the lease is released":            {errors.New(lostLease), afterStop, "info"},
		"the lease is lost before the end": {errors.New(lostLease), "the manager failed", "error"},
		"another error at the end":         {errors.New("a runnable hangs"), afterStop, "error"},
		"a message without an error":       {nil, afterStop, "error"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			newLog(zapcore.InfoLevel, &out).WithName("a").WithValues("b", "c").Error(tc.err, tc.message)
			var line struct{ Level, Logger, B string }
			if err := json.Unmarshal([]byte(out.String()), &line); err != nil {
				t.Fatalf("%q: %v", out.String(), err)
			}
			if line.Level != tc.want || line.Logger != "a" || line.B != "c" {
				t.Errorf("the log line is %s", out.String())
			}
		})
	}
}
