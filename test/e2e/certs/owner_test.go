package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/certs/selfmanaged"
)

// owner is a person who provides the certificate, and has a CA.
type owner struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	ca   string
}

func newOwner(t *testing.T) *owner {
	t.Helper()
	key := newKey(t)
	template := template(t, "owner's authority", 24*time.Hour)
	template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &owner{cert, key, string(block("CERTIFICATE", der))}
}

// pair returns the data of the owner's Secret.
func (o *owner) pair(t *testing.T, r *release, life time.Duration) map[string][]byte {
	t.Helper()
	key := newKey(t)
	template := template(t, "", life)
	template.DNSNames = []string{r.webhook() + "." + namespace + ".svc"}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	cert, err := x509.CreateCertificate(rand.Reader, template, o.cert, key.Public(), o.key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"tls.crt": block("CERTIFICATE", cert), "tls.key": block("PRIVATE KEY", text)}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
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
