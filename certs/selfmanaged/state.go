package selfmanaged

import (
	"crypto"
	"crypto/x509"
	"slices"
	"time"
)

// authorityName is by whom a certificate says that it was issued. By it, what we have put into a bundle is told from what
// somebody else has.
const authorityName = "svc-lb-mux self-managed authority"

// Authority signs leaves. Without a key it is trusted, and signs no more.
type Authority struct {
	Cert *x509.Certificate
	Key  crypto.Signer
}

// Leaf is what pods serve. Without a key, or with another one's, it is no use.
type Leaf struct {
	Cert *x509.Certificate
	Key  crypto.Signer
}

// State is what the Secret holds, as far as it can be read.
type State struct {
	// Signing is the authority that signs now.
	Signing Authority
	// Next is the one that signs once it was trusted for long enough.
	Next Authority
	// Old have signed what may be served still, the last of them until OldSince.
	Old      []*x509.Certificate
	OldSince time.Time
	Leaf     Leaf
}

// World is all that a decision is made from.
type World struct {
	// Secret is what was read, nil if there is none. Owned is false if it won't go with the configuration.
	Secret *State
	Owned  bool
	// Names are those that the leaf must be good for.
	Names []string
	// Bundles are those of the configuration's entries, as they stand there.
	Bundles [][]byte
	// Since tells, by an authority's bytes, since when it has been in every bundle, as far as this process has seen.
	Since map[string]time.Time
	// Pending is an authority that was made and isn't in any Secret yet.
	Pending *Authority
	Now     time.Time
	Policy  Policy
}

// canSign is true if a leaf for these names, signed by the authority now, is trusted by whoever trusts the authority.
func (a Authority) canSign(names []string, now time.Time) bool {
	return a.Key != nil && valid(a.Cert, now) && permits(a.Cert, names)
}

// permits is true if the authority's name constraints let it sign for these names. An authority without constraints, as older
// versions made, may sign for any name: it stays until it is rotated.
func permits(authority *x509.Certificate, names []string) bool {
	permitted := authority.PermittedDNSDomains
	return len(permitted) == 0 || !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(permitted, name) })
}

// valid is true from the first moment on: clocks differ, and whoever signed it in our future is still to be trusted then.
func valid(cert *x509.Certificate, now time.Time) bool {
	return cert != nil && !now.After(cert.NotAfter)
}

// renewal is when two thirds of a certificate's life are over, in whole seconds, as in the certificate.
func renewal(cert *x509.Certificate) time.Time {
	return cert.NotAfter.Add(-cert.NotAfter.Sub(cert.NotBefore) / 3).Truncate(time.Second)
}

// leafRenewal is when a leaf's life is over but for Policy.Renew.
func (p Policy) leafRenewal(leaf *x509.Certificate) time.Time {
	if leaf.NotAfter.Sub(leaf.NotBefore) < p.Leaf {
		return renewal(leaf)
	}
	return leaf.NotAfter.Add(-p.Renew)
}

// good is true if pods can serve the leaf, and whoever trusts the authority trusts it.
func (l Leaf) good(by Authority, names []string, now time.Time) bool {
	return l.Key != nil && valid(l.Cert, now) && by.Cert != nil && l.Cert.CheckSignatureFrom(by.Cert) == nil &&
		slices.Equal(l.Cert.DNSNames, names)
}

// ours is true for an authority that was made here.
func ours(cert *x509.Certificate) bool {
	return cert.IsCA && cert.Subject.CommonName == authorityName && cert.CheckSignatureFrom(cert) == nil
}

// contains is slices.Contains for certificates.
func contains(list []*x509.Certificate, cert *x509.Certificate) bool {
	return slices.ContainsFunc(list, cert.Equal)
}

// with appends what is still good and isn't there yet.
func with(list []*x509.Certificate, now time.Time, more ...*x509.Certificate) []*x509.Certificate {
	list = slices.Clip(list)
	for _, cert := range more {
		if valid(cert, now) && !contains(list, cert) {
			list = append(list, cert)
		}
	}
	return list
}
