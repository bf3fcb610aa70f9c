package certs

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// content is what the two files held when they were read.
type content struct {
	cert, key []byte
}

func (c content) equal(other content) bool {
	return bytes.Equal(c.cert, other.cert) && bytes.Equal(c.key, other.key)
}

func read(certFile, keyFile string) (content, error) {
	cert, err := os.ReadFile(certFile)
	if err != nil {
		return content{}, fmt.Errorf("reading the certificate: %w", err)
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return content{}, fmt.Errorf("reading the private key: %w", err)
	}
	return content{cert, key}, nil
}

// pair parses both, and refuses what a writer was interrupted in: tls.X509KeyPair skips a block without an end, so a
// chain cut in its second certificate would pass there, and then fail at clients that need the rest of it.
func (c content) pair() (*tls.Certificate, error) {
	switch {
	case !whole(c.cert):
		return nil, errors.New("the certificate's file ends within a PEM block, or holds one that is damaged")
	case !whole(c.key):
		return nil, errors.New("the private key's file ends within a PEM block, or holds one that is damaged")
	}
	pair, err := tls.X509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, fmt.Errorf("certificate and private key: %w", err)
	}
	if pair.Leaf == nil {
		return nil, errors.New("the certificate file holds no certificate")
	}
	return &pair, nil
}

// whole is true if every block that begins in the data also ends there.
func whole(data []byte) bool {
	begun := bytes.Count(data, []byte("-----BEGIN "))
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		begun--
	}
	return begun == 0
}
