package selfmanaged

import (
	"crypto"
	"crypto/x509"
	"slices"
	"time"
)

// authorityName is the name of our authorities. It distinguishes them in a bundle from authorities of other tools.
const authorityName = "svc-lb-mux self-managed authority"

// Authority signs leaves. An authority without a key is trusted, but can't sign.
type Authority struct {
	Cert *x509.Certificate
	Key  crypto.Signer
}

// Leaf is the certificate that pods serve. It can't be served without its key.
type Leaf struct {
	Cert *x509.Certificate
	Key  crypto.Signer
}

// State is the parsed content of the Secret.
type State struct {
	// Signing is the authority that signs new leaves.
	Signing Authority
	// Next replaces Signing after it was trusted for long enough.
	Next Authority
	// Old are replaced authorities whose leaves pods may still serve. OldSince is when the last of them was replaced.
	Old      []*x509.Certificate
	OldSince time.Time
	Leaf     Leaf
}

// World is the input of a decision.
type World struct {
	// Secret is the observed Secret, or nil. Owned says that the configuration is its owner.
	Secret *State
	Owned  bool
	// Names are the names that the leaf must be valid for.
	Names []string
	// Bundles are the CA bundles of the configuration's entries.
	Bundles [][]byte
	// Since maps an authority's bytes to the time since which this process has seen the authority in every bundle.
	Since map[string]time.Time
	// Pending is an authority that was made and isn't in the Secret yet.
	Pending *Authority
	Now     time.Time
	Policy  Policy
}

// canSign says that the authority can sign a valid leaf for these names now.
func (a Authority) canSign(names []string, now time.Time) bool {
	return a.Key != nil && valid(a.Cert, now) && permits(a.Cert, names)
}

// permits says that the authority's name constraints allow these names. An authority of an older version has no
// constraints and may sign for any name: it stays until it is rotated.
func permits(authority *x509.Certificate, names []string) bool {
	permitted := authority.PermittedDNSDomains
	return len(permitted) == 0 ||
		!slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(permitted, name) })
}

// valid says that the certificate hasn't expired. It ignores NotBefore: clocks differ, and a certificate that another
// machine just signed must count as valid.
func valid(cert *x509.Certificate, now time.Time) bool {
	return cert != nil && !now.After(cert.NotAfter)
}

// renewal returns when two thirds of a certificate's life are over, in whole seconds, as in the certificate.
func renewal(cert *x509.Certificate) time.Time {
	return cert.NotAfter.Add(-cert.NotAfter.Sub(cert.NotBefore) / 3).Truncate(time.Second)
}

// leafRenewal returns when a leaf must be renewed: Policy.Renew before its end, or after two thirds of its life if the
// life is shorter than Policy.Leaf.
func (p Policy) leafRenewal(leaf *x509.Certificate) time.Time {
	if leaf.NotAfter.Sub(leaf.NotBefore) < p.Leaf {
		return renewal(leaf)
	}
	return leaf.NotAfter.Add(-p.Renew)
}

// good says that pods can serve the leaf and that the authority has signed it for these names.
func (l Leaf) good(by Authority, names []string, now time.Time) bool {
	return l.Key != nil && valid(l.Cert, now) && by.Cert != nil && l.Cert.CheckSignatureFrom(by.Cert) == nil &&
		slices.Equal(l.Cert.DNSNames, names)
}

// isOurs says that this package made the authority.
func isOurs(cert *x509.Certificate) bool {
	return cert.IsCA && cert.Subject.CommonName == authorityName && cert.CheckSignatureFrom(cert) == nil
}

// contains is slices.Contains for certificates.
func contains(list []*x509.Certificate, cert *x509.Certificate) bool {
	return slices.ContainsFunc(list, cert.Equal)
}

// appendValid appends the certificates that haven't expired and aren't in the list yet.
func appendValid(list []*x509.Certificate, now time.Time, more ...*x509.Certificate) []*x509.Certificate {
	list = slices.Clip(list)
	for _, cert := range more {
		if valid(cert, now) && !contains(list, cert) {
			list = append(list, cert)
		}
	}
	return list
}
