// Package certstest makes certificates for tests, and lays them out as a kubelet lays out a Secret volume. Only tests
// use it.
package certstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Authority signs certificates for servers and clients.
type Authority struct {
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	serial int64
}

// NewAuthority makes an authority with a new key.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &Authority{cert: cert, key: key, serial: 1}
}

// Pool returns the certificates that a client trusts.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Pair is the content of the files tls.crt and tls.key: a certificate followed by its authority's certificate, and the
// private key of the first one.
type Pair struct {
	Cert, Key []byte
}

// PEM returns the authority's certificate in PEM format.
func (a *Authority) PEM() []byte { return block("CERTIFICATE", a.cert.Raw) }

// Pair signs a new certificate with a new key for localhost and 127.0.0.1.
func (a *Authority) Pair(t testing.TB, notAfter time.Time) Pair {
	t.Helper()
	return a.sign(t, &x509.Certificate{
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: notAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

// Client signs a new certificate for a client. It is valid for one hour.
func (a *Authority) Client(t testing.TB, commonName string, dnsNames ...string) *Pair {
	t.Helper()
	pair := a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: commonName}, DNSNames: dnsNames, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return &pair
}

func (a *Authority) sign(t testing.TB, template *x509.Certificate) Pair {
	t.Helper()
	a.serial++
	key := newKey(t)
	template.SerialNumber, template.NotBefore = big.NewInt(a.serial), time.Now().Add(-time.Hour)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Pair{Cert: append(block("CERTIFICATE", der), a.PEM()...), Key: block("PRIVATE KEY", keyDER)}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
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

// Volume is a Secret volume:
//
//	tls.crt -> ..data/tls.crt
//	tls.key -> ..data/tls.key
//	..data  -> ..7             swapped by renaming a new symlink over it
//	..7/       tls.crt tls.key
type Volume struct {
	Dir        string
	generation int
}

// NewVolume makes an empty volume: the Secret doesn't exist yet.
func NewVolume(t testing.TB) *Volume {
	t.Helper()
	return &Volume{Dir: t.TempDir()}
}

// CertFile returns the path of the certificate.
func (v *Volume) CertFile() string { return filepath.Join(v.Dir, "tls.crt") }

// KeyFile returns the path of the private key.
func (v *Volume) KeyFile() string { return filepath.Join(v.Dir, "tls.key") }

// Put swaps the volume's content in one step, as a kubelet does.
func (v *Volume) Put(t testing.TB, pair Pair) {
	t.Helper()
	before := ".." + strconv.Itoa(v.generation)
	v.generation++
	now := ".." + strconv.Itoa(v.generation)
	must(t, os.Mkdir(filepath.Join(v.Dir, now), 0o755))
	must(t, os.WriteFile(filepath.Join(v.Dir, now, "tls.crt"), pair.Cert, 0o644))
	must(t, os.WriteFile(filepath.Join(v.Dir, now, "tls.key"), pair.Key, 0o600))
	must(t, os.Symlink(now, filepath.Join(v.Dir, "..data_tmp")))
	must(t, os.Rename(filepath.Join(v.Dir, "..data_tmp"), filepath.Join(v.Dir, "..data")))
	if v.generation == 1 {
		must(t, os.Symlink("..data/tls.crt", v.CertFile()))
		must(t, os.Symlink("..data/tls.key", v.KeyFile()))
	}
	must(t, os.RemoveAll(filepath.Join(v.Dir, before)))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
