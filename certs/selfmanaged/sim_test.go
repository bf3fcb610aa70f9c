package selfmanaged

import (
	"bytes"
	"crypto/x509"
	"testing"
	"time"
)

// sim is a Secret, a configuration of two entries, pods that serve and API servers that trust, each after its own while.
type sim struct {
	t      fatal
	now    time.Time
	policy Policy

	secret  map[string][]byte // nil if there is none
	owned   bool
	bundles [2][]byte

	keeper  *Keeper
	written []served  // leaves that pods may serve
	trusted []trusted // bundles that API servers may go by
	writes  []string  // why, since they were last read
}

type served struct {
	leaf  *x509.Certificate
	until time.Time // zero for the last one that was good
}

type trusted struct {
	bundle []byte
	until  time.Time // zero for the one in place
}

type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

const (
	mountLag = 2 * time.Minute // of a kubelet
	watchLag = 5 * time.Second // of an API server
)

func names() []string { return []string{"hook.ns.svc", "hook.ns.svc.cluster.local"} }

func newSim(t fatal) *sim {
	s := &sim{t: t, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), owned: true, keeper: New(Options{})}
	const day = 24 * time.Hour
	s.policy = Policy{Authority: 6 * day, Leaf: 2 * day, Renew: day / 2, Trusted: 10 * time.Minute, Settle: 10 * time.Second,
		Overlap: time.Hour}
	s.trusted = []trusted{{}}
	return s
}

// crash loses what isn't written.
func (s *sim) crash() { s.keeper = New(Options{}) }

func (s *sim) world() World {
	w := World{Names: names(), Bundles: s.bundles[:], Since: s.keeper.since, Pending: s.keeper.pending, Now: s.now,
		Policy: s.policy, Owned: s.owned}
	if s.secret != nil {
		w.Secret = read(s.secret)
	}
	s.keeper.noteTrustedSince(w)
	return w
}

// pass is the keeper's, on this world; false if there was nothing to do.
func (s *sim) pass() bool {
	w := s.world()
	if w.usable() {
		s.keeper.pending = nil
	}
	decision := Decide(w)
	switch decision.Step {
	case Wait:
		if !decision.Again.After(s.now) {
			s.t.Fatalf("it waits until %s, and it is %s", decision.Again, s.now)
		}
		return false
	case Forge:
		pending, err := newAuthority(names(), s.now, s.policy)
		s.must(err)
		s.keeper.pending = pending
	case WriteBundle:
		s.setBundles(decision.Bundle, decision.Bundle)
	case WriteSecret:
		state, err := forge(decision.Secret, names(), s.now, s.policy)
		s.must(err)
		data, err := state.data()
		s.must(err)
		s.setSecret(data)
		s.owned = true
	}
	s.writes = append(s.writes, decision.Step.String())
	return true
}

func (s *sim) must(err error) {
	if err != nil {
		s.t.Fatalf("%v", err)
	}
}

// rest has the keeper go on until there is nothing to do, for as long as it takes.
func (s *sim) rest() {
	s.t.Helper()
	for range 100 {
		if s.pass() {
			continue
		}
		if s.secret != nil && s.world().usable() {
			return
		}
		s.pass()
		s.after(s.policy.Settle)
	}
	s.t.Fatalf("it never comes to rest: %q", s.writes)
}

// finish rests until no change of authority is under way any more: none that is to sign, none that has signed.
func (s *sim) finish() {
	s.t.Helper()
	for range 5 {
		s.rest()
		if now := s.world().Secret; now.Next.Cert == nil && len(now.Old) == 0 {
			return
		}
		s.after(max(s.policy.Trusted, s.policy.Overlap))
	}
	s.t.Fatalf("a change of authority never ends: %q", s.writes)
}

func (s *sim) after(span time.Duration) {
	s.now = s.now.Add(span)
	gone := func(until time.Time) bool { return !until.IsZero() && s.now.After(until) }
	var stillServed []served
	for _, leaf := range s.written {
		if !gone(leaf.until) {
			stillServed = append(stillServed, leaf)
		}
	}
	var stillTrusted []trusted
	for _, bundle := range s.trusted {
		if !gone(bundle.until) {
			stillTrusted = append(stillTrusted, bundle)
		}
	}
	s.written, s.trusted = stillServed, stillTrusted
}

// setSecret also has pods learn of it: a leaf that can't be used leaves the one before in place.
func (s *sim) setSecret(data map[string][]byte) {
	s.secret = data
	leaf := Leaf(readPair(data[leafCertKey], data[leafKeyKey]))
	if leaf.Key == nil || len(s.written) > 0 && s.written[len(s.written)-1].leaf.Equal(leaf.Cert) {
		return
	}
	if len(s.written) > 0 {
		s.written[len(s.written)-1].until = s.now.Add(mountLag)
	}
	s.written = append(s.written, served{leaf: leaf.Cert})
}

func (s *sim) setBundles(first, second []byte) {
	s.bundles = [2][]byte{first, second}
	for i := range s.trusted {
		if s.trusted[i].until.IsZero() {
			s.trusted[i].until = s.now.Add(watchLag)
		}
	}
	for _, bundle := range s.bundles {
		s.trusted = append(s.trusted, trusted{bundle: bundle})
	}
}

// check holds it to its promise: whatever pod an API server asks, it trusts it.
func (s *sim) check() {
	s.t.Helper()
	for _, leaf := range s.written {
		for _, have := range s.trusted {
			if !trusts(have.bundle, leaf.leaf, s.now) {
				s.t.Fatalf("at %s a leaf of %s is served that %d bytes of bundle don't trust; it did %q", s.now, leaf.leaf.NotBefore,
					len(have.bundle), s.writes)
			}
		}
	}
}

func trusts(bundle []byte, leaf *x509.Certificate, now time.Time) bool {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: names()[0], CurrentTime: now})
	return err == nil
}

// settled is a world after its first minute.
func settled(t *testing.T) *sim {
	t.Helper()
	s := newSim(t)
	s.rest()
	s.after(time.Minute)
	s.check()
	s.writes = nil
	return s
}

func (s *sim) authorities() int { return bytes.Count(s.bundles[0], []byte("BEGIN")) }
