package selfmanaged

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"slices"
	"time"
)

// Step is the next action. Each step makes at most one write; the next decision starts from a new observation.
type Step int

const (
	// Wait does nothing until Decision.Again, or until an object changes.
	Wait Step = iota
	// Forge makes an authority in memory.
	Forge
	// WriteBundle writes Decision.Bundle into every entry of the configuration.
	WriteBundle
	// WriteSecret writes Decision.Secret.
	WriteSecret
)

// Decision is the next step and its reason.
type Decision struct {
	Step   Step
	Why    string
	Bundle []byte
	Secret Draft
	Again  time.Time
}

// Draft is a State to write, without the parts that forge makes first.
type Draft struct {
	State
	// NewNext asks for a new authority as Next. NewLeaf asks for a new leaf that Signing signs.
	NewNext, NewLeaf bool
}

// maxOld limits the old authorities in the bundle. Without it, a process that restarts often, and can write bundles but
// no Secrets, would add an authority at each start and fill the configuration.
const maxOld = 16

// Decide returns the next step, or Wait and the time until which to wait.
func Decide(w World) Decision {
	if !w.usable() {
		return w.startOver()
	}
	s := *w.Secret
	if old, more := w.oldWithUnknown(); more {
		s.Old, s.OldSince = old, w.Now
		return write("the bundle has an authority of ours that isn't in the Secret", Draft{State: s})
	}
	if len(s.Old) > 0 && s.OldSince.IsZero() {
		s.OldSince = w.Now
		return write("the time at which the old authorities were replaced can't be read", Draft{State: s})
	}
	if want := bundle(w.trusted()); !w.allBundlesAre(want) {
		return Decision{Step: WriteBundle, Why: "the bundle doesn't match the Secret's authorities", Bundle: want}
	}
	if !w.Owned {
		return write("the Secret has no owner reference to the configuration, and would outlive it", Draft{State: s})
	}
	if len(s.Old) > 0 && !w.inOverlap() {
		s.Old = nil
		return write("no certificate of an old authority is served any more", Draft{State: s})
	}
	if decision := w.rotate(s); decision.Step != Wait {
		return decision
	}
	return Decision{Again: w.nextDue()}
}

func write(why string, draft Draft) Decision {
	return Decision{Step: WriteSecret, Why: why, Secret: draft}
}

// usable says that the Secret is a base for further steps: it has a valid authority for these names that can sign, or
// that has signed a good leaf.
func (w World) usable() bool {
	s := w.Secret
	return s != nil && valid(s.Signing.Cert, w.Now) && permits(s.Signing.Cert, w.Names) &&
		(s.Signing.Key != nil || s.Leaf.good(s.Signing, w.Names, w.Now))
}

// startOver returns the next step to a new Secret. The new authority goes into the bundles before it signs a leaf. If
// pods may serve a leaf of another authority, the new one signs only after it has been in the bundles for
// Policy.Settle.
func (w World) startOver() Decision {
	next := w.Pending
	if w.Secret != nil && w.Secret.Next.canSign(w.Names, w.Now) {
		next = &w.Secret.Next
	}
	if next == nil || !next.canSign(w.Names, w.Now) {
		return Decision{Step: Forge, Why: "there is no authority that can sign"}
	}
	old := limitOld(slices.DeleteFunc(w.possibleSigners(), next.Cert.Equal))
	if want := bundle(byAge(append(old[:len(old):len(old)], next.Cert))); !w.allBundlesAre(want) {
		return Decision{Step: WriteBundle, Why: "a new authority must be trusted before it signs", Bundle: want}
	}
	if since := w.trustedSince(next.Cert); len(old) > 0 && w.Now.Before(since.Add(w.Policy.Settle)) {
		return Decision{Again: since.Add(w.Policy.Settle)}
	}
	return write("there is no Secret, or it can't be used",
		Draft{State: State{Signing: *next, Old: old, OldSince: w.Now}, NewLeaf: true})
}

// possibleSigners returns all authorities that may have signed the served leaf. Other tools may have made some of them:
// before our Secret exists, another tool may have renewed the certificate.
func (w World) possibleSigners() []*x509.Certificate {
	var all []*x509.Certificate
	if s := w.Secret; s != nil {
		all = appendValid(all, w.Now, s.Signing.Cert, s.Next.Cert)
		all = appendValid(all, w.Now, s.Old...)
	}
	return appendValid(all, w.Now, slices.DeleteFunc(w.inBundles(), isNoAuthority)...)
}

// rotate replaces an authority or leaf that is due for renewal or can't be used.
func (w World) rotate(s State) Decision {
	switch {
	case s.Next.Cert == nil && (s.Signing.Key == nil || !w.Now.Before(renewal(s.Signing.Cert))),
		s.Next.Cert != nil && !s.Next.canSign(w.Names, w.Now):
		return write("the authority must be renewed: the next one is made", Draft{State: s, NewNext: true})
	case s.Next.Cert != nil && !w.Now.Before(w.promotion()):
		s.Old, s.OldSince = limitOld(appendValid(s.Old, w.Now, s.Signing.Cert)), w.Now
		s.Signing, s.Next = s.Next, Authority{}
		return write("the next authority has been trusted for long enough", Draft{State: s, NewLeaf: true})
	case s.Signing.Key != nil && !w.Now.Before(w.leafDue()):
		return write("the leaf must be renewed, or it can't be used", Draft{State: s, NewLeaf: true})
	}
	return Decision{}
}

// promotion returns when Next may sign: after Policy.Trusted, or after Policy.Settle if the signing authority expires
// soon.
func (w World) promotion() time.Time {
	since := w.trustedSince(w.Secret.Next.Cert)
	if end := w.Secret.Signing.Cert.NotAfter; end.Before(since.Add(2 * w.Policy.Trusted)) {
		return since.Add(w.Policy.Settle)
	}
	return since.Add(w.Policy.Trusted)
}

func (w World) leafGood() bool { return w.Secret.Leaf.good(w.Secret.Signing, w.Names, w.Now) }

// leafDue returns when to sign a new leaf: not before its authority has been in all bundles for Policy.Settle.
func (w World) leafDue() time.Time {
	trusted := w.trustedSince(w.Secret.Signing.Cert).Add(w.Policy.Settle)
	if !w.leafGood() {
		return trusted
	}
	if renewal := w.Policy.leafRenewal(w.Secret.Leaf.Cert); renewal.After(trusted) {
		return renewal
	}
	return trusted
}

// nextDue returns when the next step is due if no object changes.
func (w World) nextDue() time.Time {
	due := []time.Time{}
	if s := w.Secret; s.Signing.Key != nil {
		due = append(due, w.leafDue())
	}
	if w.Secret.Next.Cert == nil {
		due = append(due, renewal(w.Secret.Signing.Cert))
	} else {
		due = append(due, w.promotion())
	}
	if len(w.Secret.Old) > 0 {
		due = append(due, w.Secret.OldSince.Add(w.Policy.Overlap))
	}
	return slices.MinFunc(due, time.Time.Compare)
}

// trusted returns the authorities that the bundle must have.
func (w World) trusted() []*x509.Certificate {
	all := appendValid(nil, w.Now, w.Secret.Signing.Cert, w.Secret.Next.Cert)
	if w.inOverlap() {
		all = appendValid(all, w.Now, w.Secret.Old...)
	}
	return byAge(all)
}

func (w World) inOverlap() bool { return w.Now.Before(w.Secret.OldSince.Add(w.Policy.Overlap)) }

// oldWithUnknown returns the old authorities together with authorities of ours that are in the bundle and not in the
// Secret. Those come from a Secret that was replaced, for example by a backup; pods may still serve certificates that
// they signed. The result is false without such authorities.
func (w World) oldWithUnknown() ([]*x509.Certificate, bool) {
	s := w.Secret
	known := appendValid(appendValid(nil, w.Now, s.Signing.Cert, s.Next.Cert), w.Now, s.Old...)
	left := slices.DeleteFunc(w.inBundles(), func(cert *x509.Certificate) bool {
		return !isOurs(cert) || contains(known, cert)
	})
	old := limitOld(appendValid(s.Old, w.Now, left...))
	return old, slices.ContainsFunc(left, func(cert *x509.Certificate) bool { return contains(old, cert) })
}

func (w World) inBundles() []*x509.Certificate {
	var all []*x509.Certificate
	for _, text := range w.Bundles {
		all = appendValid(all, w.Now, readCertificates(text)...)
	}
	return all
}

func (w World) allBundlesAre(want []byte) bool {
	return !slices.ContainsFunc(w.Bundles, func(have []byte) bool { return !bytes.Equal(have, want) })
}

// trustedSince returns since when the authority has been in every bundle. For an authority that isn't in all bundles
// yet, it returns the current time.
func (w World) trustedSince(cert *x509.Certificate) time.Time {
	if at, known := w.Since[string(cert.Raw)]; known {
		return at
	}
	return w.Now
}

// limitOld returns at most maxOld authorities. It drops authorities of other tools before ours, and newer ones before
// older ones: if there are too many, the newest have signed no certificate yet.
func limitOld(certs []*x509.Certificate) []*x509.Certificate {
	certs = slices.SortedStableFunc(slices.Values(byAge(certs)), func(a, b *x509.Certificate) int {
		return cmp.Compare(rank(a), rank(b))
	})
	return byAge(certs[:min(len(certs), maxOld)])
}

func rank(cert *x509.Certificate) int {
	if isOurs(cert) {
		return 0
	}
	return 1
}

// byAge sorts authorities by age, not by role, so that a change of role doesn't rewrite the bundle.
func byAge(certs []*x509.Certificate) []*x509.Certificate {
	return slices.SortedStableFunc(slices.Values(certs), func(a, b *x509.Certificate) int {
		return cmp.Or(a.NotBefore.Compare(b.NotBefore), bytes.Compare(a.Raw, b.Raw))
	})
}
