package certs

import (
	"crypto/x509"
	"time"

	"go.uber.org/zap"
)

// stage says whether a certificate is far from its end, near it, or past it.
type stage int

const (
	fresh stage = iota
	ending
	over
)

// stageOf returns ending if less than a quarter of the certificate's life is left, and less than seven days.
// cert-manager renews at two thirds of a certificate's life. So an ordinary renewal is done before the warning, and a
// ten-year certificate isn't warned about for months.
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

// EndsSoon says that a certificate expires soon. All reports of expiry use it, so that they agree.
func EndsSoon(leaf *x509.Certificate, now time.Time) bool { return stageOf(leaf, now) == ending }

// logExpiry logs each stage of the served certificate once. A newly loaded certificate starts at the first stage, so a
// certificate that expires soon is logged even if it was just loaded.
func (f *Files) logExpiry() {
	pair := f.current.Load()
	if pair == nil {
		return
	}
	now := stageOf(pair.Leaf, f.now())
	if now == f.reported {
		return
	}
	f.reported = now
	about := []zap.Field{
		zap.String("file", f.options.CertFile), zap.String("serial", pair.Leaf.SerialNumber.Text(16)),
		zap.Time("notAfter", pair.Leaf.NotAfter),
	}
	switch now {
	case ending:
		f.log.Warn("serving certificate: it expires soon, and its files hold no newer one; renew it, no restart is needed "+
			"(the status of cert-manager's Certificate says why it wasn't renewed)", about...)
	case over:
		f.log.Error("serving certificate: it has expired, so clients refuse it; renew it, no restart is needed", about...)
	case fresh: // nothing to report
	}
}

// namesOf returns all names and addresses that the certificate is valid for.
func namesOf(leaf *x509.Certificate) []string {
	names := append([]string{}, leaf.DNSNames...)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}
