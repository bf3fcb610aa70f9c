package selfmanaged

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"testing"
)

// keysAndText returns a key in each algorithm and encoding of cert-manager's `privateKey`.
func keysAndText(t *testing.T) map[string]keyAndText {
	t.Helper()
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	pkcs8Of := func(key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		must(t, err)
		return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	}
	ecDER, err := x509.MarshalECPrivateKey(ec)
	must(t, err)
	return map[string]keyAndText{
		"ECDSA, PKCS8": {ec, pkcs8Of(ec)},
		"ECDSA, PKCS1": {ec, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: ecDER})},
		"RSA, PKCS8":   {rsaKey, pkcs8Of(rsaKey)},
		"RSA, PKCS1": {rsaKey,
			pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaKey)})},
		"Ed25519, PKCS8": {ed, pkcs8Of(ed)},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
