package selfmanaged

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"time"
)

// data returns the Secret's content for a state. A missing part has no entry, but the two entries that the Secret's
// type requires are always there, empty if necessary.
func (s State) data() (map[string][]byte, error) {
	data := map[string][]byte{}
	for _, pair := range []struct {
		certKey, keyKey string
		Authority
	}{
		{leafCertKey, leafKeyKey, Authority(s.Leaf)},
		{caCertKey, caKeyKey, s.Signing},
		{nextCertKey, nextKeyKey, s.Next},
	} {
		if pair.Cert != nil {
			data[pair.certKey] = bundle([]*x509.Certificate{pair.Cert})
		}
		if pair.Key != nil {
			text, err := encodeKey(pair.Key)
			if err != nil {
				return nil, err
			}
			data[pair.keyKey] = text
		}
	}
	if len(s.Old) > 0 {
		data[oldCertsKey] = bundle(s.Old)
		data[oldSinceKey] = []byte(s.OldSince.UTC().Format(time.RFC3339Nano))
	}
	for _, key := range []string{leafCertKey, leafKeyKey} {
		if data[key] == nil {
			data[key] = []byte{}
		}
	}
	return data, nil
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: pkcs8, Bytes: der}), nil
}

// bundle returns the certificates in PEM format, one after the other.
func bundle(certs []*x509.Certificate) []byte {
	var text bytes.Buffer
	for _, cert := range certs {
		_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}) // a buffer returns no errors
	}
	return text.Bytes()
}
