package certs

import (
	"crypto/x509"
	"time"

	"go.uber.org/zap"
)

// stage is how far a certificate's life has gone, as far as people have to know.
type stage int

const (
	fresh stage = iota
	ending
	over
)

// stageOf says that an end is near when less than a quarter of a certificate's life is left, and less than seven days.
// Whoever renews at two thirds of it, as cert-manager does, has then had time to, so an ordinary renewal is never told
// of; and a certificate of ten years isn't told of for months.
func stageOf(leaf *x509.Certificate, now time.Time) stage {
	const week = 7 * 24 * time.Hour
	left := leaf.NotAfter.Sub(now)
	switch {
	case left < 0:
		return over
	case left < min(week, leaf.NotAfter.Sub(leaf.NotBefore)/4):
		return ending
	}
	return fresh
}

// EndsSoon is true for a certificate whose end is near, by the same measure for everybody who tells of it.
func EndsSoon(leaf *x509.Certificate, now time.Time) bool { return stageOf(leaf, now) == ending }

// tellExpiry says each stage of the served certificate once. A new one begins anew: also one that comes with its end
// near is told of.
func (f *Files) tellExpiry() {
	pair := f.current.Load()
	if pair == nil {
		return
	}
	now := stageOf(pair.Leaf, f.now())
	if now == f.told {
		return
	}
	f.told = now
	about := []zap.Field{
		zap.String("file", f.options.CertFile), zap.String("serial", pair.Leaf.SerialNumber.Text(16)),
		zap.Time("notAfter", pair.Leaf.NotAfter),
	}
	switch now {
	case ending:
		f.log.Warn("serving certificate: it expires soon, and its files hold no newer one; renew it (cert-manager's "+
			"Certificate says why it wasn't), nothing needs a restart", about...)
	case over:
		f.log.Error("serving certificate: it has expired, so callers refuse it; renew it, nothing needs a restart", about...)
	case fresh: // as it should be
	}
}

// namesOf returns all that a client may call the server by.
func namesOf(leaf *x509.Certificate) []string {
	names := append([]string{}, leaf.DNSNames...)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}
