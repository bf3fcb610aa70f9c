package selfmanaged

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"time"

	"github.com/cert-manager/cert-manager/pkg/util/pki"
	corev1 "k8s.io/api/core/v1"
)

// The keys of the Secret. The first two are what the webhook's pods mount.
const (
	leafCertKey, leafKeyKey = corev1.TLSCertKey, corev1.TLSPrivateKeyKey
	caCertKey, caKeyKey     = "ca.crt", "ca.key"
	nextCertKey, nextKeyKey = "next-ca.crt", "next-ca.key"
	oldCertsKey             = "old-ca.crt"
	oldSinceKey             = "old-ca-since"
)

// read takes what it can: each part that can't be read is as if it weren't there.
func read(data map[string][]byte) *State {
	s := &State{
		Signing: readAuthority(data[caCertKey], data[caKeyKey]),
		Next:    readAuthority(data[nextCertKey], data[nextKeyKey]),
		Leaf:    Leaf(readPair(data[leafCertKey], data[leafKeyKey])),
	}
	s.Old = slices.DeleteFunc(readCertificates(data[oldCertsKey]), isNoAuthority)
	if since, err := time.Parse(time.RFC3339Nano, string(data[oldSinceKey])); err == nil {
		s.OldSince = since
	}
	return s
}

func isNoAuthority(cert *x509.Certificate) bool { return !cert.IsCA }

func readAuthority(cert, key []byte) Authority {
	a := readPair(cert, key)
	if a.Cert == nil || isNoAuthority(a.Cert) {
		return Authority{}
	}
	return a
}

// readPair returns the first certificate, and the key if it is the certificate's.
func readPair(cert, key []byte) Authority {
	certs := readCertificates(cert)
	if len(certs) == 0 {
		return Authority{}
	}
	return Authority{Cert: certs[0], Key: readKey(key, certs[0])}
}

func readKey(text []byte, of *x509.Certificate) crypto.Signer {
	key, err := pki.DecodePrivateKeyBytes(text)
	if err != nil {
		return nil
	}
	if fits, err := pki.PublicKeyMatchesCertificate(key.Public(), of); err != nil || !fits {
		return nil
	}
	return key
}

// readCertificates takes what is a certificate, and leaves the rest: pki's own reader gives up at the first that isn't.
func readCertificates(text []byte) []*x509.Certificate {
	var certs []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			certs = append(certs, cert)
		}
	}
	return certs
}
