package selfmanaged

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"time"
)

// forge makes the authority and the leaf that a draft asks for.
func forge(draft Draft, names []string, now time.Time, policy Policy) (State, error) {
	s := draft.State
	if draft.NewNext {
		next, err := newAuthority(names, now, policy)
		if err != nil {
			return State{}, err
		}
		s.Next = *next
	}
	if draft.NewLeaf {
		leaf, err := newLeaf(s.Signing, names, now, policy)
		if err != nil {
			return State{}, err
		}
		s.Leaf = leaf
	}
	return s, nil
}

// newAuthority makes an authority that can sign only server certificates, and only for these names. That limits the
// damage of a stolen key.
func newAuthority(names []string, now time.Time, policy Policy) (*Authority, error) {
	template, err := newTemplate(now, policy.Authority)
	if err != nil {
		return nil, err
	}
	template.Subject = pkix.Name{CommonName: authorityName}
	template.IsCA, template.MaxPathLenZero, template.KeyUsage = true, true, x509.KeyUsageCertSign
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.PermittedDNSDomains, template.PermittedDNSDomainsCritical = names, true
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	cert, err := sign(template, template, key.Public(), key)
	return &Authority{Cert: cert, Key: key}, err
}

func newLeaf(by Authority, names []string, now time.Time, policy Policy) (Leaf, error) {
	template, err := newTemplate(now, min(policy.Leaf, by.Cert.NotAfter.Sub(now)))
	if err != nil {
		return Leaf{}, err
	}
	template.DNSNames = names
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	key, err := newKey()
	if err != nil {
		return Leaf{}, err
	}
	cert, err := sign(template, by.Cert, key.Public(), by.Key)
	return Leaf{Cert: cert, Key: key}, err
}

func newKey() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func sign(template, by *x509.Certificate, of crypto.PublicKey, with crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, by, of, with)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// newTemplate returns a template whose validity starts in the past, since clocks differ.
func newTemplate(now time.Time, life time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial, BasicConstraintsValid: true,
		NotBefore: now.Add(-min(time.Hour, life/20)), NotAfter: now.Add(life),
	}, nil
}
