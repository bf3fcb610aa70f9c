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

// Each story begins with a certificate that is served and trusted. What it writes is told in full, and how many
// authorities are trusted then.
func TestStories(t *testing.T) {
	const day = 24 * time.Hour
	for name, story := range map[string]struct {
		do      func(*testing.T, *sim)
		writes  []string
		trusted int
	}{
		"nothing happens": {do: func(*testing.T, *sim) {}, trusted: 1},
		"a bundle that is blanked is put right at once": {
			do: func(_ *testing.T, s *sim) { s.setBundles(nil, s.bundles[1]) }, writes: []string{wroteBundle}, trusted: 1,
		},
		"a bundle with somebody else's authority in it is put right at once": {
			do: func(t *testing.T, s *sim) {
				more := slices.Concat(s.bundles[0], bundle([]*x509.Certificate{strangers(t, s).Cert}))
				s.setBundles(more, more)
			},
			writes: []string{wroteBundle}, trusted: 1,
		},
		"a leaf is renewed by the same authority, as long before its end as the policy says": {
			do: func(_ *testing.T, s *sim) { s.after(2*day - s.policy.Renew) }, writes: []string{wroteSecret}, trusted: 1,
		},
		"a leaf isn't renewed before that": {
			do: func(_ *testing.T, s *sim) { s.after(2*day - s.policy.Renew - time.Hour) }, trusted: 1,
		},
		"an authority is followed by the next one, which is trusted first": {
			do:     func(_ *testing.T, s *sim) { s.after(6 * day * 2 / 3); s.signAnew() },
			writes: []string{wroteSecret, wroteBundle}, trusted: 2,
		},
		"the next one signs, and the old one is trusted on": {
			do: func(_ *testing.T, s *sim) {
				s.after(6 * day * 2 / 3)
				s.signAnew()
				s.rest()
				s.after(s.policy.Trusted)
			},
			writes: []string{wroteSecret, wroteBundle, wroteSecret}, trusted: 2,
		},
		"the old one goes at last, from the bundle first": {
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
		"a Secret that is deleted is made anew, and what its pods serve is trusted on": {
			do:     func(_ *testing.T, s *sim) { s.secret = nil },
			writes: []string{madeAuthority, wroteBundle, wroteSecret}, trusted: 2,
		},
		"an authority that can't be read is replaced, and known from the bundle": {
			do:     func(_ *testing.T, s *sim) { s.replace(caCertKey, "rubbish") },
			writes: []string{madeAuthority, wroteBundle, wroteSecret}, trusted: 2,
		},
		"an authority without its key is followed by another, and the leaf stays as long": {
			do: func(_ *testing.T, s *sim) { s.replace(caKeyKey, "rubbish") }, writes: []string{wroteSecret, wroteBundle}, trusted: 2,
		},
		"a leaf whose key is another's is signed anew": {
			do: func(_ *testing.T, s *sim) { s.secret = withKey(s.secret, caKeyKey) }, writes: []string{wroteSecret}, trusted: 1,
		},
		"a leaf that is half written is signed anew": {
			do:     func(_ *testing.T, s *sim) { s.replace(leafCertKey, string(s.secret[leafCertKey][:100])) },
			writes: []string{wroteSecret}, trusted: 1,
		},
		"a configuration that was made anew owns the Secret again": {
			do: func(_ *testing.T, s *sim) { s.owned = false }, writes: []string{wroteSecret}, trusted: 1,
		},
		"a Secret from a backup doesn't cost the trust in what is served": {
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
		"a Secret of cert-manager's is taken over, and its authority followed by ours": {
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
		"where somebody provided another Secret, what they have trusted is trusted on": {
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
		"of too many authorities, strangers aren't trusted on": {
			do: func(t *testing.T, s *sim) {
				many := readCertificates(s.bundles[0])
				for i := range maxOld + 4 {
					s.now = s.now.Add(-time.Duration(i) * time.Minute) // they are older
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
		"an authority whose end is near is followed in a hurry": {
			do: func(_ *testing.T, s *sim) {
				s.after(6*day - 5*time.Minute)
				s.rest()
				s.after(s.policy.Settle)
			},
			writes: []string{wroteSecret, wroteBundle, wroteSecret, wroteSecret}, trusted: 2,
		},
		"after years of nobody there, it begins anew": {
			do:     func(_ *testing.T, s *sim) { s.after(1000 * day) },
			writes: []string{madeAuthority, wroteBundle, wroteSecret}, trusted: 1,
		},
		"a crash after an authority was trusted leaves that trusted for a while": {
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
				t.Error("it isn't at rest")
			}
		})
	}
}

// signAnew has the leaf renewed that is due as well, so that a story is about authorities alone.
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

// strangers is an authority that somebody else made.
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

func TestWhatIsWrittenIsRead(t *testing.T) {
	s := settled(t)
	first := read(s.secret)
	data, err := first.data()
	s.must(err)
	if diff := cmp.Diff(s.secret, data); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheDefaultsHoldTogether(t *testing.T) {
	if err := DefaultPolicy().Check(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*Policy){
		"an overlap as long as an authority's life": func(p *Policy) { p.Overlap = p.Authority },
		"a leaf that outlives its authority":        func(p *Policy) { p.Leaf = p.Authority + time.Hour },
		"a leaf that is renewed when it is there":   func(p *Policy) { p.Renew = p.Leaf },
		"a leaf that is renewed when it is over":    func(p *Policy) { p.Renew = 0 },
		"a leaf that is renewed all but at once":    func(p *Policy) { p.Renew = p.Leaf * 4 / 5 },
	} {
		policy := DefaultPolicy()
		spoil(&policy)
		if policy.Check() == nil {
			t.Errorf("%s must be refused", name)
		}
	}
}

// TestALeafThatIsShorterForItsAuthoritysSake isn't renewed over and over in the last days of an authority that nobody renewed.
func TestALeafThatIsShorterForItsAuthoritysSake(t *testing.T) {
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
			t.Errorf("made %s before its authority's end, it is renewed after %s", left, due.Sub(at))
		}
	}
}
