package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"nowake.ai/svc-lb-mux/certs/certstest"
)

// follower is a Files with its log. The test triggers each look itself.
type follower struct {
	*Files
	logs *bytes.Buffer
}

func follow(dir string) follower {
	logs := &bytes.Buffer{}
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	log := zap.New(zapcore.NewCore(encoder, zapcore.AddSync(logs), zapcore.InfoLevel))
	options := FilesOptions{
		CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"),
		Interval: 5 * time.Millisecond, Settle: time.Millisecond,
	}
	return follower{NewFiles(options, log, prometheus.NewRegistry()), logs}
}

func (f follower) serial(t *testing.T) string {
	t.Helper()
	pair, err := f.GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf.SerialNumber.String()
}

func TestRenewedPairIsServed(t *testing.T) {
	authority, volume := certstest.NewAuthority(t), certstest.NewVolume(t)
	f := follow(volume.Dir)

	f.Look(t.Context())
	if err := f.Ready(); err == nil || !strings.Contains(err.Error(), "tls.crt") {
		t.Errorf("without files: %v; want an error that names the file", err)
	}
	if _, err := f.GetCertificate(nil); err == nil {
		t.Error("a handshake without a certificate must fail with a reason")
	}

	expiry := time.Now().Add(time.Hour).Truncate(time.Second)
	volume.Put(t, authority.Pair(t, expiry))
	f.Look(t.Context())
	if err := f.Ready(); err != nil || f.serial(t) != "2" || !f.NotAfter().Equal(expiry) {
		t.Errorf("ready %v, serial %s, expires %s", err, f.serial(t), f.NotAfter())
	}

	volume.Put(t, authority.Pair(t, expiry.Add(time.Hour)))
	f.Look(t.Context())
	f.Look(t.Context())
	if f.serial(t) != "3" {
		t.Errorf("serial %s", f.serial(t))
	}
	if got := testutil.ToFloat64(f.metrics.expiry); got != float64(expiry.Add(time.Hour).Unix()) {
		t.Errorf("the expiry gauge is at %v", got)
	}
	if got := testutil.ToFloat64(f.metrics.reloads); got != 2 {
		t.Errorf("%v loads counted", got)
	}
}

func TestBrokenFilesLeaveTheLastGoodPair(t *testing.T) {
	authority := certstest.NewAuthority(t)
	good := authority.Pair(t, time.Now().Add(time.Hour))
	other := authority.Pair(t, time.Now().Add(time.Hour))
	tests := map[string]certstest.Pair{
		"an empty certificate":             {Cert: nil, Key: other.Key},
		"an empty key":                     {Cert: other.Cert, Key: nil},
		"a certificate that isn't PEM":     {Cert: []byte("certificate"), Key: other.Key},
		"another certificate's key":        {Cert: other.Cert, Key: good.Key},
		"a half-written first certificate": {Cert: other.Cert[:100], Key: other.Key},
		"a chain cut in its second part":   {Cert: other.Cert[:len(other.Cert)-30], Key: other.Key},
		"a half-written key":               {Cert: other.Cert, Key: other.Key[:len(other.Key)-30]},
		"exchanged files":                  {Cert: other.Key, Key: other.Cert},
		"a wrong byte in the certificate":  {Cert: bytes.Replace(other.Cert, []byte("M"), []byte("!"), 1), Key: other.Key},
	}
	for name, broken := range tests {
		t.Run(name, func(t *testing.T) {
			volume := certstest.NewVolume(t)
			volume.Put(t, good)
			f := follow(volume.Dir)
			f.Look(t.Context())
			f.logs.Reset()

			volume.Put(t, broken)
			for range 3 {
				f.Look(t.Context())
			}
			if f.serial(t) != "2" || f.Ready() != nil {
				t.Errorf("served serial %s, ready: %v", f.serial(t), f.Ready())
			}
			if lines := strings.Count(f.logs.String(), "can't be used"); lines != 1 {
				t.Errorf("logged %d times, want once: %s", lines, f.logs)
			}
			if got := testutil.ToFloat64(f.metrics.failures); got != 3 {
				t.Errorf("%v failures counted, want each look", got)
			}

			volume.Put(t, good)
			f.Look(t.Context())
			if !strings.Contains(f.logs.String(), "good again") {
				t.Errorf("the repair isn't logged: %s", f.logs)
			}
			volume.Put(t, other)
			f.Look(t.Context())
			if f.serial(t) != "3" {
				t.Errorf("a new pair isn't served after broken ones")
			}
		})
	}
}

func TestExpiredPairDoesNotReplaceAGoodOne(t *testing.T) {
	authority, volume := certstest.NewAuthority(t), certstest.NewVolume(t)
	f := follow(volume.Dir)
	volume.Put(t, authority.Pair(t, time.Now().Add(time.Hour)))
	f.Look(t.Context())
	volume.Put(t, authority.Pair(t, time.Now().Add(-time.Minute)))
	f.Look(t.Context())
	f.Look(t.Context())
	if f.serial(t) != "2" || !strings.Contains(f.logs.String(), "has expired at") {
		t.Errorf("served serial %s, log:\n%s", f.serial(t), f.logs)
	}
	volume.Put(t, authority.Pair(t, time.Now().Add(time.Hour)))
	f.Look(t.Context())
	if f.serial(t) != "4" {
		t.Errorf("after the repair, serial %s is served", f.serial(t))
	}
}

func TestFilesThatVanishLeaveTheLastGoodPair(t *testing.T) {
	authority, volume := certstest.NewAuthority(t), certstest.NewVolume(t)
	volume.Put(t, authority.Pair(t, time.Now().Add(time.Hour)))
	f := follow(volume.Dir)
	f.Look(t.Context())
	if err := os.RemoveAll(volume.Dir); err != nil {
		t.Fatal(err)
	}
	f.Look(t.Context())
	if f.serial(t) != "2" || !strings.Contains(f.logs.String(), "no such file") {
		t.Errorf("served serial %s, log: %s", f.serial(t), f.logs)
	}
}

// TestHalfWrittenPairIsNotServed changes the files between the two reads. The second read finds the key and the chain's
// first certificate, which would be a valid pair, but the rest of the chain is missing.
func TestHalfWrittenPairIsNotServed(t *testing.T) {
	authority := certstest.NewAuthority(t)
	f := follow(t.TempDir())
	write := func(pair certstest.Pair) {
		must(t, os.WriteFile(f.options.KeyFile, pair.Key, 0o600))
		must(t, os.WriteFile(f.options.CertFile, pair.Cert, 0o600))
	}
	expiry := time.Now().Add(time.Hour)
	write(authority.Pair(t, expiry))
	f.Look(t.Context())

	next := authority.Pair(t, expiry)
	begun := certstest.Pair{Cert: bytes.SplitAfter(next.Cert, []byte("-----END CERTIFICATE-----\n"))[0], Key: next.Key}
	write(authority.Pair(t, expiry))
	f.wait = func(context.Context, time.Duration) bool { write(begun); return true }
	f.Look(t.Context())
	if f.serial(t) != "2" || f.pause() > time.Second {
		t.Errorf("serial %s is served while the pair is being written; the next look is in %s", f.serial(t), f.pause())
	}
	write(next)
	f.wait = wait
	f.Look(t.Context())
	if f.serial(t) != "3" || len(f.current.Load().Certificate) != 2 || strings.Contains(f.logs.String(), "can't be used") {
		t.Errorf("serial %s is served after the write; log: %s", f.serial(t), f.logs)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestInterruptedLookLogsNothing(t *testing.T) {
	authority, volume := certstest.NewAuthority(t), certstest.NewVolume(t)
	volume.Put(t, authority.Pair(t, time.Now().Add(time.Hour)))
	f := follow(volume.Dir)
	f.options.Settle = time.Minute
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { defer close(ended); f.Run(ctx) }()
	time.Sleep(10 * time.Millisecond)
	cancel()
	<-ended
	if f.logs.Len() > 0 || f.Ready() == nil {
		t.Errorf("logged %s, ready %v", f.logs, f.Ready())
	}
}
