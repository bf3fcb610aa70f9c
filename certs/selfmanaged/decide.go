package selfmanaged

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"slices"
	"time"
)

// Step is what to do next. One write is one step: whatever it comes to, the next decision begins with what is there.
type Step int

const (
	// Wait until Decision.Again, or until something changes.
	Wait Step = iota
	// Forge makes an authority, in memory.
	Forge
	// WriteBundle writes Decision.Bundle into every entry of the configuration.
	WriteBundle
	// WriteSecret writes Decision.Secret.
	WriteSecret
)

// Decision is the next step, with its why.
type Decision struct {
	Step   Step
	Why    string
	Bundle []byte
	Secret Draft
	Again  time.Time
}

// Draft is a State to be written, with what is to be made first.
type Draft struct {
	State
	// NewNext asks for an authority as Next, NewLeaf for a leaf that Signing signs.
	NewNext, NewLeaf bool
}

// mostOld bounds how many authorities of the past are trusted: a process that can write bundles and no Secrets, and is
// started over and over, must not fill the configuration.
const mostOld = 16

// Decide is the whole of it.
func Decide(w World) Decision {
	if !w.usable() {
		return w.begin()
	}
	s := *w.Secret
	if old, more := w.adopted(); more {
		s.Old, s.OldSince = old, w.Now
		return write("an authority of ours is in the bundle that the Secret doesn't know", Draft{State: s})
	}
	if len(s.Old) > 0 && s.OldSince.IsZero() {
		s.OldSince = w.Now
		return write("since when old authorities are old can't be read", Draft{State: s})
	}
	if want := bundle(w.trusted()); !w.everywhere(want) {
		return Decision{Step: WriteBundle, Why: "the bundle isn't what the Secret's authorities make", Bundle: want}
	}
	if !w.Owned {
		return write("the Secret isn't owned by the configuration, and would outlive it", Draft{State: s})
	}
	if len(s.Old) > 0 && !w.overlapping() {
		s.Old = nil
		return write("nothing that an old authority has signed is served any more", Draft{State: s})
	}
	if decision := w.rotate(s); decision.Step != Wait {
		return decision
	}
	return Decision{Again: w.again()}
}

func write(why string, draft Draft) Decision {
	return Decision{Step: WriteSecret, Why: why, Secret: draft}
}

// usable is false if there is nothing to go on from: no authority, or one for other names, or one that can't sign, and no leaf
// either.
func (w World) usable() bool {
	s := w.Secret
	return s != nil && valid(s.Signing.Cert, w.Now) && permits(s.Signing.Cert, w.Names) &&
		(s.Signing.Key != nil || s.Leaf.good(s.Signing, w.Names, w.Now))
}

// begin makes a Secret anew. Its authority is trusted before there is a leaf of it; and if there may be pods that serve
// another's leaf, for a while before.
func (w World) begin() Decision {
	next := w.Pending
	if w.Secret != nil && w.Secret.Next.canSign(w.Names, w.Now) {
		next = &w.Secret.Next
	}
	if next == nil || !next.canSign(w.Names, w.Now) {
		return Decision{Step: Forge, Why: "there is no authority that can sign"}
	}
	old := oldest(slices.DeleteFunc(w.readable(), next.Cert.Equal))
	if want := bundle(byAge(append(old[:len(old):len(old)], next.Cert))); !w.everywhere(want) {
		return Decision{Step: WriteBundle, Why: "a new authority is trusted before anything is signed by it", Bundle: want}
	}
	if since := w.since(next.Cert); len(old) > 0 && w.Now.Before(since.Add(w.Policy.Settle)) {
		return Decision{Again: since.Add(w.Policy.Settle)}
	}
	return write("there is no Secret, or none that can be used",
		Draft{State: State{Signing: *next, Old: old, OldSince: w.Now}, NewLeaf: true})
}

// readable are all authorities that may have signed what is being served; whose they are doesn't matter, for before there is a
// Secret, somebody else may have kept the certificate.
func (w World) readable() []*x509.Certificate {
	var all []*x509.Certificate
	if s := w.Secret; s != nil {
		all = with(all, w.Now, s.Signing.Cert, s.Next.Cert)
		all = with(all, w.Now, s.Old...)
	}
	return with(all, w.Now, slices.DeleteFunc(w.inBundles(), isNoAuthority)...)
}

// rotate replaces what grows old, or can't be used.
func (w World) rotate(s State) Decision {
	switch {
	case s.Next.Cert == nil && (s.Signing.Key == nil || !w.Now.Before(renewal(s.Signing.Cert))),
		s.Next.Cert != nil && !s.Next.canSign(w.Names, w.Now):
		return write("the authority's time is coming: the next one is made", Draft{State: s, NewNext: true})
	case s.Next.Cert != nil && !w.Now.Before(w.promotion()):
		s.Old, s.OldSince = oldest(with(s.Old, w.Now, s.Signing.Cert)), w.Now
		s.Signing, s.Next = s.Next, Authority{}
		return write("the next authority has been trusted for long enough", Draft{State: s, NewLeaf: true})
	case s.Signing.Key != nil && !w.Now.Before(w.leafDue()):
		return write("the leaf's time is coming, or it can't be used", Draft{State: s, NewLeaf: true})
	}
	return Decision{}
}

// promotion is when Next may sign: sooner, if there isn't the time to wait for long.
func (w World) promotion() time.Time {
	since := w.since(w.Secret.Next.Cert)
	if end := w.Secret.Signing.Cert.NotAfter; end.Before(since.Add(2 * w.Policy.Trusted)) {
		return since.Add(w.Policy.Settle)
	}
	return since.Add(w.Policy.Trusted)
}

func (w World) leafGood() bool { return w.Secret.Leaf.good(w.Secret.Signing, w.Names, w.Now) }

// leafDue is when a new leaf is to be signed: never before its authority is known to be trusted.
func (w World) leafDue() time.Time {
	trusted := w.since(w.Secret.Signing.Cert).Add(w.Policy.Settle)
	if !w.leafGood() {
		return trusted
	}
	if renewal := w.Policy.leafRenewal(w.Secret.Leaf.Cert); renewal.After(trusted) {
		return renewal
	}
	return trusted
}

// again is when the next thing is due, if nobody changes anything.
func (w World) again() time.Time {
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

// trusted are the authorities that the bundle must have.
func (w World) trusted() []*x509.Certificate {
	all := with(nil, w.Now, w.Secret.Signing.Cert, w.Secret.Next.Cert)
	if w.overlapping() {
		all = with(all, w.Now, w.Secret.Old...)
	}
	return byAge(all)
}

func (w World) overlapping() bool { return w.Now.Before(w.Secret.OldSince.Add(w.Policy.Overlap)) }

// adopted are the old authorities together with those of ours in the bundle that the Secret knows nothing of: they come
// from a Secret that was replaced by another one, or by a backup. Pods may serve what they have signed. False says that
// there are none of these.
func (w World) adopted() ([]*x509.Certificate, bool) {
	s := w.Secret
	known := with(with(nil, w.Now, s.Signing.Cert, s.Next.Cert), w.Now, s.Old...)
	left := slices.DeleteFunc(w.inBundles(), func(cert *x509.Certificate) bool { return !ours(cert) || contains(known, cert) })
	old := oldest(with(s.Old, w.Now, left...))
	return old, slices.ContainsFunc(left, func(cert *x509.Certificate) bool { return contains(old, cert) })
}

func (w World) inBundles() []*x509.Certificate {
	var all []*x509.Certificate
	for _, text := range w.Bundles {
		all = with(all, w.Now, readCertificates(text)...)
	}
	return all
}

func (w World) everywhere(want []byte) bool {
	return !slices.ContainsFunc(w.Bundles, func(have []byte) bool { return !bytes.Equal(have, want) })
}

// since is now for what isn't in every bundle.
func (w World) since(cert *x509.Certificate) time.Time {
	if at, known := w.Since[string(cert.Raw)]; known {
		return at
	}
	return w.Now
}

// oldest leaves those out that are one too many: strangers before ours, and of ours what came last, which nothing was signed by.
func oldest(certs []*x509.Certificate) []*x509.Certificate {
	certs = slices.SortedStableFunc(slices.Values(byAge(certs)), func(a, b *x509.Certificate) int { return cmp.Compare(rank(a), rank(b)) })
	return byAge(certs[:min(len(certs), mostOld)])
}

func rank(cert *x509.Certificate) int {
	if ours(cert) {
		return 0
	}
	return 1
}

// byAge is an order that doesn't change with what an authority is used for: the bundle isn't written for that.
func byAge(certs []*x509.Certificate) []*x509.Certificate {
	return slices.SortedStableFunc(slices.Values(certs), func(a, b *x509.Certificate) int {
		return cmp.Or(a.NotBefore.Compare(b.NotBefore), bytes.Compare(a.Raw, b.Raw))
	})
}
