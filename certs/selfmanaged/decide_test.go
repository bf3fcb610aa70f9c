package selfmanaged

import (
	"crypto/x509"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	madeAuthority = "an authority was made"
	wroteBundle   = "the bundle was written"
	wroteSecret   = "the Secret was written"
)

// TestStories plays stories. Each story begins with a served and trusted certificate. It lists all steps that follow,
// and the number of authorities that are trusted at the end.
func TestStories(t *testing.T) {
	const day = 24 * time.Hour
	for name, story := range map[string]struct {
		do      func(*testing.T, *sim)
		writes  []string
		trusted int
	}{
		"nothing changes": {do: func(*testing.T, *sim) {}, trusted: 1},
		"an emptied bundle is restored at once": {
			do: func(_ *testing.T, s *sim) { s.setBundles(nil, s.bundles[1]) }, writes: []string{wroteBundle}, trusted: 1,
		},
		"a foreign authority is removed from the bundle at once": {
			do: func(t *testing.T, s *sim) {
				more := slices.Concat(s.bundles[0], bundle([]*x509.Certificate{strangers(t, s).Cert}))
				s.setBundles(more, more)
			},
			writes: []string{wroteBundle}, trusted: 1,
		},
		"a leaf is renewed by the same authority when the policy says so": {
			do: func(_ *testing.T, s *sim) { s.after(2*day - s.policy.Renew) }, writes: []string{wroteSecret}, trusted: 1,
		},
		"a leaf isn't renewed before that": {
			do: func(_ *testing.T, s *sim) { s.after(2*day - s.policy.Renew - time.Hour) }, trusted: 1,
		},
		"the next authority is trusted before it signs": {
			do:     func(_ *testing.T, s *sim) { s.after(6 * day * 2 / 3); s.signAnew() },
			writes: []string{wroteSecret, wroteBundle}, trusted: 2,
		},
		"the next authority signs, and the old one stays trusted": {
			do: func(_ *testing.T, s *sim) {
				s.after(6 * day * 2 / 3)
				s.signAnew()
				s.rest()
				s.after(s.policy.Trusted)
			},
			writes: []string{wroteSecret, wroteBundle, wroteSecret}, trusted: 2,
		},
		"the old authority is removed at last, first from the bundle": {
			do: func(_ *testing.T, s *sim) {
				s.after(6 * day * 2 / 3)
				s.signAnew()
				s.rest()
				s.after(s.policy.Trusted)
				s.rest()
				s.after(s.policy.Overlap)
			},
			writes: []string{wroteSecret, wroteBundle, wroteSecret, wroteBundle, wroteSecret}, trusted: 1,
		},
		"a deleted Secret is recreated, and served leaves stay trusted": {
			do:     func(_ *testing.T, s *sim) { s.secret = nil },
			writes: []string{madeAuthority, wroteBundle, wroteSecret}, trusted: 2,
		},
		"a broken authority is replaced, and stays trusted through the bundle": {
			do:     func(_ *testing.T, s *sim) { s.replace(caCertKey, "rubbish") },
			writes: []string{madeAuthority, wroteBundle, wroteSecret}, trusted: 2,
		},
		"an authority without a key is replaced, and the leaf stays meanwhile": {
			do: func(_ *testing.T, s *sim) { s.replace(caKeyKey, "rubbish") }, writes: []string{wroteSecret, wroteBundle},
			trusted: 2,
		},
		"a leaf with a wrong key is signed again": {
			do: func(_ *testing.T, s *sim) { s.secret = withKey(s.secret, caKeyKey) }, writes: []string{wroteSecret}, trusted: 1,
		},
		"a half-written leaf is signed again": {
			do:     func(_ *testing.T, s *sim) { s.replace(leafCertKey, string(s.secret[leafCertKey][:100])) },
			writes: []string{wroteSecret}, trusted: 1,
		},
		"a recreated configuration owns the Secret again": {
			do: func(_ *testing.T, s *sim) { s.owned = false }, writes: []string{wroteSecret}, trusted: 1,
		},
		"served leaves stay trusted when a Secret is restored from a backup": {
			do: func(t *testing.T, s *sim) {
				backup := maps.Clone(s.secret)
				s.secret = nil
				s.rest()
				s.after(2 * s.policy.Overlap)
				s.rest()
				s.secret, s.writes = backup, nil
				s.check()
			},
			writes: []string{wroteSecret, wroteBundle}, trusted: 2,
		},
		"a Secret of cert-manager is taken over, and its authority replaced by ours": {
			do: func(t *testing.T, s *sim) {
				stranger := strangers(t, s)
				leaf, err := newLeaf(*stranger, names(), s.now, s.policy)
				s.must(err)
				data, err := State{Signing: *stranger, Leaf: leaf}.data()
				s.must(err)
				delete(data, caKeyKey)
				own := bundle([]*x509.Certificate{stranger.Cert})
				s.secret, s.owned, s.bundles = data, false, [2][]byte{own, own}
				s.setSecret(data)
			},
			writes: []string{wroteSecret, wroteSecret, wroteBundle}, trusted: 2,
		},
		"the authorities of a provided Secret stay trusted": {
			do: func(t *testing.T, s *sim) {
				stranger := strangers(t, s)
				leaf, err := newLeaf(*stranger, names(), s.now, s.policy)
				s.must(err)
				own := bundle([]*x509.Certificate{stranger.Cert})
				s.secret, s.owned, s.bundles = nil, false, [2][]byte{own, own}
				s.written, s.trusted = []served{{leaf: leaf.Cert}}, []trusted{{bundle: own}}
				s.rest()
				s.check()
			},
			writes: []string{madeAuthority, wroteBundle, wroteSecret}, trusted: 2,
		},
		"of too many authorities, foreign ones are dropped": {
			do: func(t *testing.T, s *sim) {
				many := readCertificates(s.bundles[0])
				for i := range maxOld + 4 {
					s.now = s.now.Add(-time.Duration(i) * time.Minute) // so that the foreign authorities are older than ours
					many = append(many, strangers(t, s).Cert)
					s.now = s.now.Add(time.Duration(i) * time.Minute)
				}
				s.secret = nil
				s.setBundles(bundle(many), bundle(many))
				s.rest()
				s.check()
			},
			writes: []string{madeAuthority, wroteBundle, wroteSecret}, trusted: maxOld + 1,
		},
		"an authority near its end is replaced quickly": {
			do: func(_ *testing.T, s *sim) {
				s.after(6*day - 5*time.Minute)
				s.rest()
				s.after(s.policy.Settle)
			},
			writes: []string{wroteSecret, wroteBundle, wroteSecret, wroteSecret}, trusted: 2,
		},
		"after years without a keeper, the Secret is recreated": {
			do:     func(_ *testing.T, s *sim) { s.after(1000 * day) },
			writes: []string{madeAuthority, wroteBundle, wroteSecret}, trusted: 1,
		},
		"a crash after an authority was trusted keeps it trusted for a while": {
			do: func(_ *testing.T, s *sim) {
				s.secret = nil
				s.pass()
				s.pass()
				s.crash()
			},
			writes: []string{madeAuthority, wroteBundle, madeAuthority, wroteBundle, wroteSecret}, trusted: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := settled(t)
			story.do(t, s)
			s.rest()
			if diff := cmp.Diff(story.writes, s.writes); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if s.authorities() != story.trusted || string(s.bundles[0]) != string(s.bundles[1]) {
				t.Errorf("%d authorities are trusted, want %d", s.authorities(), story.trusted)
			}
			if s.pass() {
				t.Error("the keeper isn't at rest")
			}
		})
	}
}

// signAnew writes a new leaf. A story that is only about authorities calls it, so that no renewal of the leaf is due.
func (s *sim) signAnew() {
	state, err := forge(Draft{State: *read(s.secret), NewLeaf: true}, names(), s.now, s.policy)
	s.must(err)
	data, err := state.data()
	s.must(err)
	s.setSecret(data)
}

func (s *sim) replace(key, value string) {
	s.secret = maps.Clone(s.secret)
	s.secret[key] = []byte(value)
}

func withKey(data map[string][]byte, key string) map[string][]byte {
	data = maps.Clone(data)
	data[leafKeyKey] = data[key]
	return data
}

// strangers returns a foreign authority.
func strangers(t *testing.T, s *sim) *Authority {
	t.Helper()
	ours, err := newAuthority(names(), s.now, s.policy)
	s.must(err)
	template := *ours.Cert
	template.Subject.CommonName, template.RawSubject, template.RawIssuer = "somebody else", nil, nil
	der, err := x509.CreateCertificate(nil, &template, &template, ours.Key.Public(), ours.Key)
	s.must(err)
	cert, err := x509.ParseCertificate(der)
	s.must(err)
	return &Authority{Cert: cert, Key: ours.Key}
}

func TestWrittenStateIsReadBack(t *testing.T) {
	s := settled(t)
	first := read(s.secret)
	data, err := first.data()
	s.must(err)
	if diff := cmp.Diff(s.secret, data); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDefaultPolicyIsValid(t *testing.T) {
	if err := DefaultPolicy().Check(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*Policy){
		"an overlap as long as an authority's life": func(p *Policy) { p.Overlap = p.Authority },
		"a leaf that outlives its authority":        func(p *Policy) { p.Leaf = p.Authority + time.Hour },
		"a leaf that is renewed at once":            func(p *Policy) { p.Renew = p.Leaf },
		"a leaf that is renewed at its end":         func(p *Policy) { p.Renew = 0 },
		"a leaf that is renewed almost at once":     func(p *Policy) { p.Renew = p.Leaf * 4 / 5 },
	} {
		policy := DefaultPolicy()
		spoil(&policy)
		if policy.Check() == nil {
			t.Errorf("%s must be refused", name)
		}
	}
}

// TestLeafThatEndsWithItsAuthorityIsNotRenewedOften checks the last days of an authority that wasn't rotated: its
// leaves have short lives, but must not be renewed over and over.
func TestLeafThatEndsWithItsAuthorityIsNotRenewedOften(t *testing.T) {
	policy := DefaultPolicy()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	by, err := newAuthority(names(), now, policy)
	if err != nil {
		t.Fatal(err)
	}
	for left := policy.Leaf + time.Hour; left > time.Hour; left -= 7 * time.Hour {
		at := by.Cert.NotAfter.Add(-left)
		leaf, err := newLeaf(*by, names(), at, policy)
		if err != nil {
			t.Fatal(err)
		}
		if life, due := leaf.Cert.NotAfter.Sub(at), policy.leafRenewal(leaf.Cert); due.Before(at.Add(life / 5)) {
			t.Errorf("a leaf made %s before its authority's end is renewed after %s", left, due.Sub(at))
		}
	}
}
