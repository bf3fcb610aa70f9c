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

// FilesOptions says which files to serve and how often to read them.
type FilesOptions struct {
	CertFile, KeyFile string
	// Interval is the time between two reads. A read is cheap: two small files. There is no file watch, since symlinks
	// and network file systems can break one, and a Secret volume is a minute late in any case.
	Interval time.Duration
	// Settle is how long a new pair must stay unchanged before it is served. Default: 100 ms, or Interval if that is
	// shorter.
	Settle time.Duration
}

// Files serves a certificate from two files and follows their changes:
//
//	read both ── unchanged ──────────────────────────────> nothing to do
//	    └─ new ── wait Settle, read again ── differs ─────> the files are being written: read again soon
//	                         └─ the same ── parse ── bad ─> log it, keep serving the last good pair
//	                                          └─ good ────> served from the next handshake on
//
// The second read protects against two races: a volume swap between the reads of certificate and key, and a file that
// is written in place.
type Files struct {
	options FilesOptions
	log     *zap.Logger
	metrics fileMetrics
	wait    func(context.Context, time.Duration) bool
	now     func() time.Time

	current atomic.Pointer[tls.Certificate]
	failure atomic.Pointer[error] // of the last read; nil if it succeeded

	// Only Look uses these.
	served    content
	unsettled bool
	reported  stage // the stage of the served certificate that was logged last
}

// NewFiles reads nothing yet. Look reads once; Run reads at each interval.
func NewFiles(options FilesOptions, log *zap.Logger, registry prometheus.Registerer) *Files {
	if options.Settle == 0 {
		options.Settle = min(100*time.Millisecond, options.Interval)
	}
	return &Files{options: options, log: log, metrics: newFileMetrics(registry), wait: wait, now: time.Now}
}

// GetCertificate is for tls.Config. Established connections stay up when the pair changes.
func (f *Files) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if pair := f.current.Load(); pair != nil {
		return pair, nil
	}
	return nil, f.Ready()
}

// Ready returns nil while the served pair hasn't expired, even if the files are broken by now: the last good pair stays
// in use. A pod with an expired certificate isn't ready: API servers refuse that certificate, and other pods may have a
// newer one.
func (f *Files) Ready() error {
	pair := f.current.Load()
	if pair != nil && !f.expired(pair) {
		return nil
	}
	if pair != nil {
		return fmt.Errorf("the certificate has expired at %s, and %s holds no newer one: renew it; no restart is needed",
			pair.Leaf.NotAfter.UTC().Format(time.RFC3339), f.options.CertFile)
	}
	if failure := f.failure.Load(); failure != nil {
		return fmt.Errorf("no certificate is loaded: %w", *failure)
	}
	return errors.New("no certificate is loaded: its files weren't read yet")
}

// Remark returns the fault of the files while the last good pair is still served. It is empty without a fault.
func (f *Files) Remark() string {
	failure := f.failure.Load()
	if failure == nil || f.current.Load() == nil {
		return ""
	}
	return fmt.Sprintf("the last good certificate is served, until %s: %v", f.NotAfter().UTC().Format(time.RFC3339),
		*failure)
}

// NotAfter returns when the served certificate expires, or the zero time if none is loaded.
func (f *Files) NotAfter() time.Time {
	if pair := f.current.Load(); pair != nil {
		return pair.Leaf.NotAfter
	}
	return time.Time{}
}

// Run calls Look until the context ends.
func (f *Files) Run(ctx context.Context) {
	for {
		f.Look(ctx)
		if !f.wait(ctx, f.pause()) {
			return
		}
	}
}

// wait returns false if the context ended before the time was over.
func wait(ctx context.Context, span time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(span):
		return true
	}
}

// pause returns the time until the next read. It is short while the files are being written, and until the first
// certificate is loaded: the pod isn't ready before.
func (f *Files) pause() time.Duration {
	const soon = time.Second
	if f.unsettled || f.current.Load() == nil {
		return min(soon, f.options.Interval)
	}
	return f.options.Interval
}

// Look reads the files once and serves a new pair. It logs a warning if the served certificate expires soon. It isn't
// safe for concurrent use.
func (f *Files) Look(ctx context.Context) {
	defer f.logExpiry()
	f.unsettled = false
	found, err := f.readSettled(ctx)
	switch {
	case err != nil:
		f.noteFailure(err)
	case f.unsettled: // the files are being written: decide at the next read
	case f.current.Load() != nil && found.equal(f.served):
		f.noteRecovery()
	default:
		f.adopt(found)
	}
}

// readSettled reads the files, and reads new content twice: see Settle.
func (f *Files) readSettled(ctx context.Context) (content, error) {
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
		f.noteFailure(err)
		return
	}
	// An expired pair in the files is a mistake: keep the served pair while the served pair is valid.
	if f.expired(pair) && !f.expired(f.current.Load()) {
		f.noteFailure(fmt.Errorf("%s: the certificate has expired at %s", f.options.CertFile,
			pair.Leaf.NotAfter.Format(time.RFC3339)))
		return
	}
	f.served, f.reported = found, fresh
	f.current.Store(pair)
	f.failure.Store(nil)
	f.metrics.loaded(pair.Leaf.NotAfter)
	f.log.Info("serving certificate loaded", zap.String("file", f.options.CertFile),
		zap.String("serial", pair.Leaf.SerialNumber.Text(16)), zap.Strings("names", namesOf(pair.Leaf)),
		zap.Time("notBefore", pair.Leaf.NotBefore), zap.Time("notAfter", pair.Leaf.NotAfter))
}

// expired says that the pair has expired, or that there is none.
func (f *Files) expired(pair *tls.Certificate) bool {
	return pair == nil || stageOf(pair.Leaf, f.now()) == over
}

// noteFailure counts every failed read, so that the metric's rate stays above zero while the fault lasts. It logs an
// error only if the error is new.
func (f *Files) noteFailure(err error) {
	f.metrics.failures.Inc()
	before := f.failure.Swap(&err)
	if before != nil && (*before).Error() == err.Error() {
		return
	}
	meanwhile := "no certificate is served"
	if f.current.Load() != nil {
		meanwhile = "the last good pair stays in use"
	}
	f.log.Error("serving certificate: the files can't be used; fix them, no restart is needed "+
		"(a Secret of type kubernetes.io/tls holds both)", zap.String("certFile", f.options.CertFile),
		zap.String("keyFile", f.options.KeyFile), zap.String("meanwhile", meanwhile), zap.Error(err))
}

// noteRecovery clears an earlier failure. It is called when the files hold the pair that is already served.
func (f *Files) noteRecovery() {
	if f.failure.Swap(nil) != nil {
		f.log.Info("serving certificate: the files are good again", zap.String("file", f.options.CertFile))
	}
}
