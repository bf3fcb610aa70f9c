package certs

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"

	"github.com/cert-manager/cert-manager/pkg/util/pki"

	"nowake.ai/svc-lb-mux/certs/selfmanaged"
)

// owner has an authority of his own.
type owner struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	ca   string
}

func newOwner(t *testing.T) *owner {
	t.Helper()
	key, err := pki.GenerateECPrivateKey(pki.ECCurve256)
	if err != nil {
		t.Fatal(err)
	}
	template := template(t, "owner's authority", 24*time.Hour)
	template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign
	text, cert, err := pki.SignCertificate(template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &owner{cert, key, string(text)}
}

// pair is what his Secret holds.
func (o *owner) pair(t *testing.T, r *release, life time.Duration) map[string][]byte {
	t.Helper()
	key, err := pki.GenerateECPrivateKey(pki.ECCurve256)
	if err != nil {
		t.Fatal(err)
	}
	template := template(t, "", life)
	template.DNSNames = []string{r.webhook() + "." + namespace + ".svc"}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	cert, _, err := pki.SignCertificate(template, o.cert, key.Public(), o.key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := pki.EncodePKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"tls.crt": cert, "tls.key": text}
}

func template(t *testing.T, name string, life time.Duration) *x509.Certificate {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name}, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(life)}
}

func longLives() selfmanaged.Policy {
	policy := selfmanaged.DefaultPolicy()
	policy.Settle = 3 * time.Second
	return policy
}
