package certs

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// content holds the bytes of the two files at one read.
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

// pair parses certificate and key, and refuses files that were written only in part. tls.X509KeyPair skips a PEM block
// without an end: it would accept a chain that is cut in its second certificate, and clients that need the rest of the
// chain would fail.
func (c content) pair() (*tls.Certificate, error) {
	switch {
	case !hasWholeBlocks(c.cert):
		return nil, errors.New("the certificate's file ends within a PEM block, or a PEM block in it is damaged")
	case !hasWholeBlocks(c.key):
		return nil, errors.New("the private key's file ends within a PEM block, or a PEM block in it is damaged")
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

// hasWholeBlocks says that every PEM block which begins in the data also ends there.
func hasWholeBlocks(data []byte) bool {
	open := bytes.Count(data, []byte("-----BEGIN "))
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		open--
	}
	return open == 0
}
