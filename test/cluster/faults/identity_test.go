package faults

import (
	"crypto/ecdsa"
	"crypto/x509"
	"net"
	"testing"
)

// selfSigned returns a certificate and its key.
func selfSigned(t *testing.T) (certificate, key []byte) {
	t.Helper()
	made, err := newIdentity(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1})
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(made.certificate.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	return made.caPEM, pemOf("EC PRIVATE KEY", der)
}

func TestWhereClientsDial(t *testing.T) {
	for name, test := range map[string]struct {
		listens net.TCPAddr
		want    string
	}{
		"the listener's address":              {net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 443}, "10.1.2.3:443"},
		"an IPv6 address":                     {net.TCPAddr{IP: net.ParseIP("fd00::1"), Port: 443}, "[fd00::1]:443"},
		"loopback for an unspecified address": {net.TCPAddr{IP: net.IPv6unspecified, Port: 443}, "127.0.0.1:443"},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := newIdentity(&test.listens)
			if err != nil {
				t.Fatal(err)
			}
			if made.address != test.want {
				t.Errorf("address %s, want %s", made.address, test.want)
			}
		})
	}
}
