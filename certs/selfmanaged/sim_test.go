package selfmanaged

import (
	"bytes"
	"crypto/x509"
	"testing"
	"time"
)

// sim has a Secret, a configuration with two entries, pods that serve with a delay, and API servers that trust with a
// delay.
type sim struct {
	t      fatal
	now    time.Time
	policy Policy

	secret  map[string][]byte // nil if it doesn't exist
	owned   bool
	bundles [2][]byte

	keeper  *Keeper
	written []served  // leaves that pods may serve
	trusted []trusted // bundles that API servers may use
	writes  []string  // steps since the last reset
}

type served struct {
	leaf  *x509.Certificate
	until time.Time // when no pod serves it any more; zero for the latest usable leaf
}

type trusted struct {
	bundle []byte
	until  time.Time // when no API server uses it any more; zero for a present bundle
}

type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

const (
	mountLag = 2 * time.Minute // delay of a kubelet
	watchLag = 5 * time.Second // delay of an API server
)

func names() []string { return []string{"hook.ns.svc", "hook.ns.svc.cluster.local"} }

func newSim(t fatal) *sim {
	s := &sim{t: t, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), owned: true, keeper: New(Options{})}
	const day = 24 * time.Hour
	s.policy = Policy{Authority: 6 * day, Leaf: 2 * day, Renew: day / 2, Trusted: 10 * time.Minute,
		Settle:  10 * time.Second,
		Overlap: time.Hour}
	s.trusted = []trusted{{}}
	return s
}

// crash loses the keeper's unwritten state.
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

// pass runs one step of the keeper. It returns false if there was nothing to do.
func (s *sim) pass() bool {
	w := s.world()
	if w.usable() {
		s.keeper.pending = nil
	}
	decision := Decide(w)
	switch decision.Step {
	case Wait:
		if !decision.Again.After(s.now) {
			s.t.Fatalf("the keeper waits until %s, but it is %s", decision.Again, s.now)
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

// rest runs steps until there is nothing to do.
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
	s.t.Fatalf("the keeper never comes to rest: %q", s.writes)
}

// finish rests until no rotation is under way: no next authority waits, and no old one is kept.
func (s *sim) finish() {
	s.t.Helper()
	for range 5 {
		s.rest()
		if now := s.world().Secret; now.Next.Cert == nil && len(now.Old) == 0 {
			return
		}
		s.after(max(s.policy.Trusted, s.policy.Overlap))
	}
	s.t.Fatalf("a rotation never ends: %q", s.writes)
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

// setSecret writes the Secret. Pods change to its leaf if the leaf is usable, and otherwise keep the leaf before.
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

// check checks the promise: every API server trusts every pod.
func (s *sim) check() {
	s.t.Helper()
	for _, leaf := range s.written {
		for _, have := range s.trusted {
			if !trusts(have.bundle, leaf.leaf, s.now) {
				s.t.Fatalf("at %s a served leaf of %s isn't trusted by a bundle of %d bytes; steps: %q", s.now, leaf.leaf.NotBefore,
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

// settled returns a sim after its first minute.
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
