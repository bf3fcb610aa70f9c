package guard

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"testing"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"nowake.ai/svc-lb-mux/certs/certstest"
)

// scene is an observation without faults, until a case changes it.
type scene struct {
	observation
	entry *admissionregistrationv1.ValidatingWebhook
	place target
	now   time.Time
	ready *cmapi.CertificateCondition
}

// chain returns a served chain, which is only a leaf signed by a new CA, and the bundle with this CA.
func chain(t *testing.T, life time.Duration) ([]*x509.Certificate, []byte) {
	t.Helper()
	pair := certstest.NewAuthority(t).Pair(t, time.Now().Add(life))
	block, rest := pem.Decode(pair.Cert)
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return []*x509.Certificate{leaf}, rest
}

func newScene(t *testing.T) *scene {
	t.Helper()
	served, bundle := chain(t, 20*time.Hour)
	url := "https://localhost:443/validate"
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "change", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: bundle},
		}}}
	crt := &cmapi.Certificate{Status: cmapi.CertificateStatus{Conditions: []cmapi.CertificateCondition{
		{Type: cmapi.CertificateConditionReady, Status: cmmeta.ConditionTrue},
	}}}
	s := &scene{entry: &configuration.Webhooks[0], now: time.Now(), ready: &crt.Status.Conditions[0]}
	s.place = targetOf(&s.entry.ClientConfig)
	s.configuration = known{kind: "ValidatingWebhookConfiguration", name: "mux", object: configuration, heard: true}
	s.handshakes = map[target]handshake{s.place: {served: served}}
	s.certificates = []certificate{{known: known{kind: "Certificate", name: "hook", object: crt, heard: true}}}
	s.secret = &known{kind: "Secret", name: "hook-tls", object: &corev1.Secret{}, heard: true}
	return s
}

func TestJudgeFindsFaults(t *testing.T) {
	absent := apierrors.NewNotFound(schema.GroupResource{}, "")
	for name, tc := range map[string]struct {
		do   func(*scene)
		want []Reason
		off  bool
	}{
		"no fault":         {func(*scene) {}, nil, false},
		"no configuration": {func(s *scene) { s.configuration.object = nil }, []Reason{ConfigurationMissing}, true},
		"a configuration that was never readable": {
			func(s *scene) { s.configuration = known{err: errors.New("no"), since: s.now} }, []Reason{Unreadable}, true},
		"a configuration that is unreadable for a moment": {
			func(s *scene) { s.configuration.err, s.configuration.since = errors.New("no"), s.now }, nil, false},
		"a configuration that is unreadable for long": {func(s *scene) { s.configuration.err = errors.New("no") },
			[]Reason{Unreadable}, true},
		"a bundle that isn't PEM": {func(s *scene) { s.entry.ClientConfig.CABundle = []byte("x") },
			[]Reason{NoCABundle}, true},
		"an empty bundle for a Service": {func(s *scene) {
			s.entry.ClientConfig = admissionregistrationv1.WebhookClientConfig{
				Service: &admissionregistrationv1.ServiceReference{Namespace: "ns", Name: "hook"}}
			s.handshakes[targetOf(&s.entry.ClientConfig)] = s.handshakes[s.place]
		}, []Reason{NoCABundle}, true},
		"another CA's bundle": {func(s *scene) { _, s.entry.ClientConfig.CABundle = chain(t, time.Hour) },
			[]Reason{NotTrusted}, true},
		"a certificate for another name": {func(s *scene) {
			url := "https://elsewhere"
			s.entry.ClientConfig.URL = &url
			s.handshakes[targetOf(&s.entry.ClientConfig)] = s.handshakes[s.place]
		}, []Reason{NotTrusted}, true},
		"an address without a host": {func(s *scene) {
			url := "https://:443" // verification against an empty name accepts a certificate for any name
			s.entry.ClientConfig.URL = &url
			s.handshakes[targetOf(&s.entry.ClientConfig)] = s.handshakes[s.place]
		}, []Reason{NotReachable}, true},
		"an expired certificate": {func(s *scene) { s.now = s.now.Add(21 * time.Hour) },
			[]Reason{CertificateExpired}, true},
		"a CA outside of its validity": {func(s *scene) { s.now = s.now.Add(-3 * time.Hour) },
			[]Reason{CertificateExpired}, true},
		"a certificate that expires soon": {func(s *scene) { s.now = s.now.Add(19 * time.Hour) }, []Reason{ExpiresSoon},
			false},
		"no answer": {func(s *scene) { s.handshakes[s.place] = handshake{err: errors.New("refused")} },
			[]Reason{NotReachable}, true},
		"no Service": {func(s *scene) { s.handshakes[s.place] = handshake{missing: true} },
			[]Reason{ServiceMissing}, true},
		"no cert-manager": {func(s *scene) { s.certificates[0].known = known{err: absent, since: s.now} },
			[]Reason{CertManagerMissing}, false},
		"no Certificate": {func(s *scene) { s.certificates[0].object = nil },
			[]Reason{CertificateMissing}, false},
		"no Issuer": {func(s *scene) { s.certificates[0].issuerLost = true },
			[]Reason{IssuerMissing}, false},
		"a Certificate without a condition": {func(s *scene) { s.ready.Type = "Other" }, []Reason{CertificateNotReady},
			false},
		"a Certificate that isn't ready": {func(s *scene) { s.ready.Status = cmmeta.ConditionFalse },
			[]Reason{CertificateNotReady}, false},
		"no Secret of the Certificate": {
			func(s *scene) { s.ready.Status, s.ready.Reason = cmmeta.ConditionFalse, "DoesNotExist" },
			[]Reason{SecretMissing}, false},
		"no self-managed Secret": {func(s *scene) { s.secret.object = nil }, []Reason{SecretMissing}, false},
		"a certificate that can't be renewed": {func(s *scene) { s.kept = errors.New("forbidden") }, []Reason{NotKept},
			false},
		"several faults in a fixed order": {func(s *scene) {
			s.kept, s.secret.object, s.entry.ClientConfig.CABundle = errors.New("forbidden"), nil, []byte("x")
		}, []Reason{NoCABundle, SecretMissing, NotKept}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			tc.do(s)
			status := judge(&s.observation, s.now)
			var got []Reason
			for _, fault := range status.Faults {
				got = append(got, fault.Reason)
				t.Log(fault.Message)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || status.OnGuard == tc.off {
				t.Errorf("on guard %v; (-want +got):\n%s", status.OnGuard, diff)
			}
			harmless := len(got) == 0 || len(got) == 1 && got[0] == ExpiresSoon
			if err := status.Ready(); (err == nil) != harmless {
				t.Errorf("ready: %v", err)
			}
		})
	}
}

// TestNewAddressIsNotTriedYet changes the address of the configuration. The new address must not count as tried:
// otherwise a process that waits for readiness would go on before any handshake with it.
func TestNewAddressIsNotTriedYet(t *testing.T) {
	s := newScene(t)
	if !s.tried() {
		t.Error("all addresses were tried, want true")
	}
	url := "https://elsewhere"
	s.entry.ClientConfig.URL = &url
	if s.tried() {
		t.Error("a changed address counts as tried")
	}
}

func TestAddressWithoutHostIsNotDialed(t *testing.T) {
	g := &Guard{options: Options{Dial: func(_ context.Context, _, address string) (net.Conn, error) {
		t.Errorf("%s is dialed", address)
		return nil, errors.New("no")
	}}}
	if shook := g.tryHandshake(t.Context(), target{}); shook.err == nil {
		t.Error("the handshake succeeds, want an error")
	}
}

func TestReadinessHasALineForEachFault(t *testing.T) {
	err := Status{Known: true, Faults: []Fault{{CertificateNotReady, "a", "a:\nb"}, {NotKept, "c", "c"}}}.Ready()
	if want := "admission: CertificateNotReady: a: b\nadmission: NotKept: c"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestNotReadyBeforeTheFirstCheck(t *testing.T) {
	if (Status{}).Ready() == nil {
		t.Error("ready before the first check")
	}
}
