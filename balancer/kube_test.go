package balancer

import (
	"errors"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func TestEachOutageOfTheAPIServerIsLoggedOnce(t *testing.T) {
	core, logs := observer.New(zapcore.WarnLevel)
	k, noon, refused := &KubeSource{log: zap.New(core).Sugar()}, time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC),
		errors.New("connection refused")
	for _, step := range []struct {
		name  string
		after time.Duration
		err   error
		want  int
	}{
		{"an outage", 0, refused, 1},
		{"it goes on", time.Minute, refused, 1},
		{"and on", 2 * time.Minute, refused, 1},
		{"with another error", 2*time.Minute + time.Second, errors.New("no route"), 2},
		{"another outage, hours later", 5 * time.Hour, errors.New("no route"), 3},
	} {
		if k.fault(step.err, noon.Add(step.after)); logs.Len() != step.want {
			t.Errorf("%s: %d lines, want %d", step.name, logs.Len(), step.want)
		}
	}
}
