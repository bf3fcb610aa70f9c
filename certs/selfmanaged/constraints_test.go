package selfmanaged

import (
	"crypto"
	"crypto/x509"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAuthoritySignsForTheWebhookAlone lets each authority sign leaves for several names and usages. Only leaves for
// the webhook's names, as a server, are trusted.
func TestAuthoritySignsForTheWebhookAlone(t *testing.T) {
	s := settled(t)
	by := read(s.secret).Signing
	if !by.Cert.PermittedDNSDomainsCritical {
		t.Error("a client that doesn't know name constraints may ignore them: they aren't critical")
	}
	for name, test := range map[string]struct {
		names   []string
		usage   x509.ExtKeyUsage
		trusted bool
	}{
		"the webhook":             {names(), x509.ExtKeyUsageServerAuth, true},
		"another Service":         {[]string{"api.other.svc"}, x509.ExtKeyUsageServerAuth, false},
		"the API server":          {[]string{"kubernetes.default.svc"}, x509.ExtKeyUsageServerAuth, false},
		"the webhook as a client": {names(), x509.ExtKeyUsageClientAuth, false},
	} {
		t.Run(name, func(t *testing.T) {
			leaf := signedAs(t, s, by, test.names, test.usage)
			roots := x509.NewCertPool()
			roots.AddCert(by.Cert)
			_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: test.names[0], CurrentTime: s.now,
				KeyUsages: []x509.ExtKeyUsage{test.usage}})
			if (err == nil) != test.trusted {
				t.Errorf("trusted %v, want %v: %v", err == nil, test.trusted, err)
			}
		})
	}
}

func signedAs(t *testing.T, s *sim, by Authority, names []string, usage x509.ExtKeyUsage) *x509.Certificate {
	t.Helper()
	template, err := newTemplate(s.now, time.Hour)
	s.must(err)
	template.DNSNames, template.ExtKeyUsage = names, []x509.ExtKeyUsage{usage}
	key, err := newKey()
	s.must(err)
	leaf, err := sign(template, by.Cert, key.Public(), by.Key)
	s.must(err)
	return leaf
}

// TestAuthorityWithoutConstraintsStaysUntilRotated upgrades from a version whose authorities have no name constraints.
// The upgrade writes nothing. The next rotation makes an authority with constraints, and every served leaf is trusted
// throughout.
func TestAuthorityWithoutConstraintsStaysUntilRotated(t *testing.T) {
	s := newSim(t)
	s.unconstrained()
	s.rest()
	s.check()
	if len(s.writes) > 0 {
		t.Errorf("the upgrade wrote %q", s.writes)
	}
	if len(read(s.secret).Signing.Cert.PermittedDNSDomains) > 0 {
		t.Error("the old authority was replaced at once")
	}
	for range 8 * 24 {
		s.after(time.Hour)
		s.rest()
		s.check()
	}
	if diff := cmp.Diff(names(), read(s.secret).Signing.Cert.PermittedDNSDomains); diff != "" {
		t.Errorf("names that the new authority may sign for (-want +got):\n%s", diff)
	}
}

// unconstrained creates the state that an older version left.
func (s *sim) unconstrained() {
	s.t.Helper()
	template, err := newTemplate(s.now, s.policy.Authority)
	s.must(err)
	template.Subject.CommonName = authorityName
	template.IsCA, template.MaxPathLenZero, template.KeyUsage = true, true, x509.KeyUsageCertSign
	key, err := newKey()
	s.must(err)
	cert, err := sign(template, template, key.Public(), key)
	s.must(err)
	by := Authority{Cert: cert, Key: key}
	leaf, err := newLeaf(by, names(), s.now, s.policy)
	s.must(err)
	data, err := State{Signing: by, Leaf: leaf}.data()
	s.must(err)
	own := bundle([]*x509.Certificate{cert})
	s.bundles, s.trusted = [2][]byte{own, own}, []trusted{{bundle: own}}
	s.setSecret(data)
}

// TestAuthorityForOtherNamesIsReplaced gives the configuration another Service, for which the authority may not sign.
// The next step must make a new authority.
func TestAuthorityForOtherNamesIsReplaced(t *testing.T) {
	s := settled(t)
	w := s.world()
	w.Names = []string{"other.ns.svc"}
	if w.usable() {
		t.Error("an authority that may not sign for other.ns.svc counts as usable for it")
	}
	if decision := Decide(w); decision.Step != Forge {
		t.Errorf("the next step is %s (%s), want a new authority", decision.Step, decision.Why)
	}
}

// TestKeysThatCertManagerWritesAreRead takes over a Secret in each encoding that cert-manager offers.
func TestKeysThatCertManagerWritesAreRead(t *testing.T) {
	for name, made := range keysAndText(t) {
		t.Run(name, func(t *testing.T) {
			template, err := newTemplate(time.Now(), time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			cert, err := sign(template, template, made.key.Public(), made.key)
			if err != nil {
				t.Fatal(err)
			}
			if readKey(made.text, cert) == nil {
				t.Error("the key isn't read")
			}
			other, err := newKey()
			if err != nil {
				t.Fatal(err)
			}
			if text, err := encodeKey(other); err != nil || readKey(text, cert) != nil {
				t.Errorf("another certificate's key is accepted: %v", err)
			}
		})
	}
}

type keyAndText struct {
	key  crypto.Signer
	text []byte
}
