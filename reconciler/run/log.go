package run

import (
	"io"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func newLog(level zapcore.Level, to io.Writer) logr.Logger {
	return logr.New(stopFilter{zapr.NewLogger(newZap(level, to)).GetSink()})
}

func newZap(level zapcore.Level, to io.Writer) *zap.Logger {
	encoder := zap.NewProductionEncoderConfig()
	encoder.TimeKey = "time"
	encoder.EncodeTime, encoder.EncodeDuration = zapcore.RFC3339NanoTimeEncoder, zapcore.StringDurationEncoder
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(encoder), zapcore.Lock(zapcore.AddSync(to)), level))
}

// stopFilter turns one error of controller-runtime into an info line. At an orderly end, the manager reports the
// released lease as an error. A lease that is lost although the process wasn't told to end has another message, and
// stays an error.
type stopFilter struct{ logr.LogSink }

const (
	lostLease = "leader election lost"
	afterStop = "error received after stop sequence was engaged"
)

func (c stopFilter) Error(err error, message string, pairs ...any) {
	if message == afterStop && err != nil && err.Error() == lostLease {
		c.Info(0, "stopped leading, because the process was told to end", pairs...)
		return
	}
	c.LogSink.Error(err, message, pairs...)
}

func (c stopFilter) WithValues(pairs ...any) logr.LogSink {
	return stopFilter{c.LogSink.WithValues(pairs...)}
}
func (c stopFilter) WithName(name string) logr.LogSink { return stopFilter{c.LogSink.WithName(name)} }
