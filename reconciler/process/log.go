package process

import (
	"io"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func newLog(level zapcore.Level, to io.Writer) logr.Logger {
	return logr.New(calmly{zapr.NewLogger(newZap(level, to)).GetSink()})
}

func newZap(level zapcore.Level, to io.Writer) *zap.Logger {
	encoder := zap.NewProductionEncoderConfig()
	encoder.TimeKey = "time"
	encoder.EncodeTime, encoder.EncodeDuration = zapcore.RFC3339NanoTimeEncoder, zapcore.StringDurationEncoder
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(encoder), zapcore.Lock(zapcore.AddSync(to)), level))
}

// calmly tells what controller-runtime takes for an error at every ordinary end: that the lease is given back is what
// whoever told the process to end wants. To lose it without being told to end is another thing: it ends the manager with
// that error, which is told as one.
type calmly struct{ logr.LogSink }

const (
	lostLease = "leader election lost"
	afterStop = "error received after stop sequence was engaged"
)

func (c calmly) Error(err error, message string, pairs ...any) {
	if message == afterStop && err != nil && err.Error() == lostLease {
		c.Info(0, "leads no longer, as it was told to end", pairs...)
		return
	}
	c.LogSink.Error(err, message, pairs...)
}

func (c calmly) WithValues(pairs ...any) logr.LogSink { return calmly{c.LogSink.WithValues(pairs...)} }
func (c calmly) WithName(name string) logr.LogSink    { return calmly{c.LogSink.WithName(name)} }
