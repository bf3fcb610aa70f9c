package selfmanaged

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The keys of the Secret. The webhook's pods mount the first two.
const (
	leafCertKey, leafKeyKey = corev1.TLSCertKey, corev1.TLSPrivateKeyKey
	caCertKey, caKeyKey     = "ca.crt", "ca.key"
	nextCertKey, nextKeyKey = "next-ca.crt", "next-ca.key"
	oldCertsKey             = "old-ca.crt"
	oldSinceKey             = "old-ca-since"
)

// read parses the Secret's data. A part that can't be parsed counts as missing.
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

// readPair returns the first certificate, and the private key if it belongs to that certificate.
func readPair(cert, key []byte) Authority {
	certs := readCertificates(cert)
	if len(certs) == 0 {
		return Authority{}
	}
	return Authority{Cert: certs[0], Key: readKey(key, certs[0])}
}

// readKey returns the private key in the text's first PEM block, if it belongs to the certificate.
func readKey(text []byte, of *x509.Certificate) crypto.Signer {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil
	}
	key := parseKey(block)
	if key == nil {
		return nil
	}
	public, comparable := key.Public().(interface {
		Equal(other crypto.PublicKey) bool
	})
	if !comparable || !public.Equal(of.PublicKey) {
		return nil
	}
	return key
}

// pkcs8 is the type of the PEM blocks that we write. A Secret taken over from cert-manager may have any of the three
// types that parseKey knows.
const pkcs8 = "PRIVATE KEY"

// parseKey returns nil if the block holds no private key that can sign.
func parseKey(block *pem.Block) crypto.Signer {
	switch block.Type {
	case pkcs8:
		if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			signer, _ := key.(crypto.Signer)
			return signer
		}
	case "EC PRIVATE KEY":
		if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
			return key
		}
	case "RSA PRIVATE KEY":
		if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
			return key
		}
	}
	return nil
}

// readCertificates returns the certificates of the text, and skips all other PEM blocks.
func readCertificates(text []byte) []*x509.Certificate {
	var certs []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			certs = append(certs, cert)
		}
	}
	return certs
}
