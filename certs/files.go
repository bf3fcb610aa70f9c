package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

// FilesOptions says which files to serve and how often to look at them.
type FilesOptions struct {
	CertFile, KeyFile string
	// Interval is the time between two looks. Looking costs two small reads, and a Secret volume lags by a minute
	// anyway; so there is no watch, which symlinks and network file systems have ways to defeat.
	Interval time.Duration
	// Settle is how long a new pair must stay as it is before it is served; default 100 ms, or Interval if shorter.
	Settle time.Duration
}

// Files serves a certificate from two files and follows their changes:
//
//	read both ── as served ──────────────────────────────> nothing to do
//	    └─ new ── wait Settle, read again ── differs ─────> somebody is writing: look again soon
//	                         └─ the same ── parse ── bad ─> say so, go on with the last good pair
//	                                          └─ good ────> served from the next handshake on
//
// The second read is what makes a swap harmless that falls between the reads of certificate and key, and a file that
// is written in place.
type Files struct {
	options FilesOptions
	log     *zap.Logger
	metrics fileMetrics
	wait    func(context.Context, time.Duration) bool
	now     func() time.Time

	current atomic.Pointer[tls.Certificate]
	failure atomic.Pointer[error] // of the last look; nil if it went well

	// Of the one goroutine that looks.
	served    content
	unsettled bool
	told      stage // of what is served
}

// NewFiles looks at nothing yet: Look does, and Run goes on doing it.
func NewFiles(options FilesOptions, log *zap.Logger, registry prometheus.Registerer) *Files {
	if options.Settle == 0 {
		options.Settle = min(100*time.Millisecond, options.Interval)
	}
	return &Files{options: options, log: log, metrics: newFileMetrics(registry), wait: wait, now: time.Now}
}

// GetCertificate is for tls.Config. Connections that are up stay up when the pair changes.
func (f *Files) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if pair := f.current.Load(); pair != nil {
		return pair, nil
	}
	return nil, f.Ready()
}

// Ready is nil while a pair is served that isn't past its end, however broken the files have become since: the last good
// one is served on. A pod whose certificate has expired isn't ready: others may have a newer one, and no API server
// takes this one.
func (f *Files) Ready() error {
	pair := f.current.Load()
	if pair != nil && !f.expired(pair) {
		return nil
	}
	if pair != nil {
		return fmt.Errorf("the certificate has expired at %s, and %s holds no newer one: renew it; nothing needs a restart",
			pair.Leaf.NotAfter.UTC().Format(time.RFC3339), f.options.CertFile)
	}
	if failure := f.failure.Load(); failure != nil {
		return fmt.Errorf("no certificate is loaded: %w", *failure)
	}
	return errors.New("no certificate is loaded: its files are still being read")
}

// Remark says what is wrong with the files while the last good pair is served on; empty if nothing is.
func (f *Files) Remark() string {
	failure := f.failure.Load()
	if failure == nil || f.current.Load() == nil {
		return ""
	}
	return fmt.Sprintf("the last good certificate is served, until %s: %v", f.NotAfter().UTC().Format(time.RFC3339), *failure)
}

// NotAfter is when the served certificate expires; zero if there is none.
func (f *Files) NotAfter() time.Time {
	if pair := f.current.Load(); pair != nil {
		return pair.Leaf.NotAfter
	}
	return time.Time{}
}

// Run looks at the files until the context ends.
func (f *Files) Run(ctx context.Context) {
	for {
		f.Look(ctx)
		if !f.wait(ctx, f.pause()) {
			return
		}
	}
}

// wait is false if the context ended before its time was over.
func wait(ctx context.Context, span time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(span):
		return true
	}
}

// pause is short while something is about to come: files that are being written, or a first certificate that a pod
// waits for to become ready.
func (f *Files) pause() time.Duration {
	const soon = time.Second
	if f.unsettled || f.current.Load() == nil {
		return min(soon, f.options.Interval)
	}
	return f.options.Interval
}

// Look reads the files once and serves them if they hold a new pair; and it says so if the end of what is served is
// near. It is not for several goroutines at once.
func (f *Files) Look(ctx context.Context) {
	defer f.tellExpiry()
	f.unsettled = false
	found, err := f.settled(ctx)
	switch {
	case err != nil:
		f.failed(err)
	case f.unsettled: // neither good nor bad yet
	case f.current.Load() != nil && found.equal(f.served):
		f.recovered()
	default:
		f.adopt(found)
	}
}

// settled reads the files, twice if they hold something new.
func (f *Files) settled(ctx context.Context) (content, error) {
	first, err := read(f.options.CertFile, f.options.KeyFile)
	if err == nil && first.equal(f.served) {
		return first, nil
	}
	if !f.wait(ctx, f.options.Settle) {
		f.unsettled = true
		return content{}, nil
	}
	second, err := read(f.options.CertFile, f.options.KeyFile)
	if err != nil {
		return content{}, err
	}
	f.unsettled = !second.equal(first)
	return second, nil
}

func (f *Files) adopt(found content) {
	pair, err := found.pair()
	if err != nil {
		f.failed(err)
		return
	}
	// Whoever wrote an expired pair did so by mistake: as long as the one before is good, it stays.
	if f.expired(pair) && !f.expired(f.current.Load()) {
		f.failed(fmt.Errorf("%s: the certificate has expired at %s", f.options.CertFile, pair.Leaf.NotAfter.Format(time.RFC3339)))
		return
	}
	f.served, f.told = found, fresh
	f.current.Store(pair)
	f.failure.Store(nil)
	f.metrics.loaded(pair.Leaf.NotAfter)
	f.log.Info("serving certificate loaded", zap.String("file", f.options.CertFile),
		zap.String("serial", pair.Leaf.SerialNumber.Text(16)), zap.Strings("names", namesOf(pair.Leaf)),
		zap.Time("notBefore", pair.Leaf.NotBefore), zap.Time("notAfter", pair.Leaf.NotAfter))
}

// expired is true for none, too.
func (f *Files) expired(pair *tls.Certificate) bool {
	return pair == nil || stageOf(pair.Leaf, f.now()) == over
}

// failed counts every bad look, so that a rate shows for as long as it lasts, but logs only what it hasn't said yet.
func (f *Files) failed(err error) {
	f.metrics.failures.Inc()
	before := f.failure.Swap(&err)
	if before != nil && (*before).Error() == err.Error() {
		return
	}
	meanwhile := "nothing is served"
	if f.current.Load() != nil {
		meanwhile = "the last good pair is served on"
	}
	f.log.Error("serving certificate: the files can't be used; mend them (a Secret of type kubernetes.io/tls holds "+
		"both), nothing needs a restart", zap.String("certFile", f.options.CertFile),
		zap.String("keyFile", f.options.KeyFile), zap.String("meanwhile", meanwhile), zap.Error(err))
}

// recovered is for files that are again what is served.
func (f *Files) recovered() {
	if f.failure.Swap(nil) != nil {
		f.log.Info("serving certificate: the files are good again", zap.String("file", f.options.CertFile))
	}
}
