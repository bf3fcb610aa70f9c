package faults

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// identity holds the credentials by which a proxy and its clients authenticate each other.
type identity struct {
	address     string // host and port that clients dial
	certificate tls.Certificate
	caPEM       []byte
	pass        string
}

// newIdentity creates a certificate: the proxy must serve HTTPS because client-go sends a kubeconfig's credentials only
// over HTTPS.
func newIdentity(address net.Addr) (identity, error) {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return identity{}, fmt.Errorf("listener %s: %w", address, err)
	}
	ip := net.ParseIP(host)
	if ip == nil || ip.IsUnspecified() {
		ip = net.IPv4(127, 0, 0, 1)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return identity{}, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "fault proxy"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().AddDate(1, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{ip, net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return identity{}, err
	}
	return identity{
		address:     net.JoinHostPort(ip.String(), port),
		certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		caPEM:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pass:        "fault-proxy-" + rand.Text(),
	}, nil
}
