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

// scene is a world in which all is well, until a case changes it.
type scene struct {
	observation
	entry *admissionregistrationv1.ValidatingWebhook
	place target
	now   time.Time
	ready *cmapi.CertificateCondition
}

// chain is what an authority's new certificate is served as, and the bundle that trusts it.
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
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{Webhooks: []admissionregistrationv1.ValidatingWebhook{{
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

func TestWhatIsAmiss(t *testing.T) {
	absent := apierrors.NewNotFound(schema.GroupResource{}, "")
	for name, tc := range map[string]struct {
		do   func(*scene)
		want []Reason
		off  bool
	}{
		"nothing":                   {func(*scene) {}, nil, false},
		"there is no configuration": {func(s *scene) { s.configuration.object = nil }, []Reason{ConfigurationMissing}, true},
		"it was never to be read":   {func(s *scene) { s.configuration = known{err: errors.New("no"), since: s.now} }, []Reason{Unreadable}, true},
		"it can't be read just now": {func(s *scene) { s.configuration.err, s.configuration.since = errors.New("no"), s.now }, nil, false},
		"it can't be read for long": {func(s *scene) { s.configuration.err = errors.New("no") }, []Reason{Unreadable}, true},
		"the bundle is no PEM":      {func(s *scene) { s.entry.ClientConfig.CABundle = []byte("x") }, []Reason{NoCABundle}, true},
		"the bundle of a Service is empty": {func(s *scene) {
			s.entry.ClientConfig = admissionregistrationv1.WebhookClientConfig{
				Service: &admissionregistrationv1.ServiceReference{Namespace: "ns", Name: "hook"}}
			s.handshakes[targetOf(&s.entry.ClientConfig)] = s.handshakes[s.place]
		}, []Reason{NoCABundle}, true},
		"the bundle is another's": {func(s *scene) { _, s.entry.ClientConfig.CABundle = chain(t, time.Hour) }, []Reason{NotTrusted}, true},
		"the certificate is for another name": {func(s *scene) {
			url := "https://elsewhere"
			s.entry.ClientConfig.URL = &url
			s.handshakes[targetOf(&s.entry.ClientConfig)] = s.handshakes[s.place]
		}, []Reason{NotTrusted}, true},
		"nobody is named": {func(s *scene) {
			url := "https://:443" // where a certificate for any name would do
			s.entry.ClientConfig.URL = &url
			s.handshakes[targetOf(&s.entry.ClientConfig)] = s.handshakes[s.place]
		}, []Reason{NotReachable}, true},
		"the certificate has expired": {func(s *scene) { s.now = s.now.Add(21 * time.Hour) }, []Reason{CertificateExpired}, true},
		"its authority has expired":   {func(s *scene) { s.now = s.now.Add(-3 * time.Hour) }, []Reason{CertificateExpired}, true},
		"it expires soon":             {func(s *scene) { s.now = s.now.Add(19 * time.Hour) }, []Reason{ExpiresSoon}, false},
		"nobody answers":              {func(s *scene) { s.handshakes[s.place] = handshake{err: errors.New("refused")} }, []Reason{NotReachable}, true},
		"there is no Service":         {func(s *scene) { s.handshakes[s.place] = handshake{missing: true} }, []Reason{ServiceMissing}, true},
		"there is no cert-manager":    {func(s *scene) { s.certificates[0].known = known{err: absent, since: s.now} }, []Reason{CertManagerMissing}, false},
		"there is no Certificate":     {func(s *scene) { s.certificates[0].object = nil }, []Reason{CertificateMissing}, false},
		"its Issuer isn't there":      {func(s *scene) { s.certificates[0].issuerLost = true }, []Reason{IssuerMissing}, false},
		"it has no condition":         {func(s *scene) { s.ready.Type = "Other" }, []Reason{CertificateNotReady}, false},
		"it isn't ready":              {func(s *scene) { s.ready.Status = cmmeta.ConditionFalse }, []Reason{CertificateNotReady}, false},
		"its Secret isn't there":      {func(s *scene) { s.ready.Status, s.ready.Reason = cmmeta.ConditionFalse, "DoesNotExist" }, []Reason{SecretMissing}, false},
		"our Secret isn't there":      {func(s *scene) { s.secret.object = nil }, []Reason{SecretMissing}, false},
		"it can't be kept":            {func(s *scene) { s.kept = errors.New("forbidden") }, []Reason{NotKept}, false},
		"much at once, in a fixed order": {func(s *scene) {
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

// Else whoever waits for readiness would go on before anybody has shaken hands.
func TestNothingIsSaidOfAPlaceThatWasNotTried(t *testing.T) {
	s := newScene(t)
	if !s.tried() {
		t.Error("all were tried")
	}
	url := "https://elsewhere"
	s.entry.ClientConfig.URL = &url
	if s.tried() {
		t.Error("it has another place now")
	}
}

func TestWhereNobodyIsNamedNobodyIsAsked(t *testing.T) {
	g := &Guard{options: Options{Dial: func(_ context.Context, _, address string) (net.Conn, error) {
		t.Errorf("%s is asked", address)
		return nil, errors.New("no")
	}}}
	if shook := g.tryHandshake(t.Context(), target{}); shook.err == nil {
		t.Error("somebody answers")
	}
}

func TestReadinessHasALineForEachFault(t *testing.T) {
	err := Status{Known: true, Faults: []Fault{{CertificateNotReady, "a", "a:\nb"}, {NotKept, "c", "c"}}}.Ready()
	if want := "admission: CertificateNotReady: a: b\nadmission: NotKept: c"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestBeforeTheFirstLookItIsNotReady(t *testing.T) {
	if (Status{}).Ready() == nil {
		t.Error("nothing is known yet")
	}
}
