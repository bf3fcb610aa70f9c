package guard

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

// steady is a certificate that is the same in every process, so that stored fuzz inputs keep their meaning.
type steady struct {
	cert *x509.Certificate
	key  ed25519.PrivateKey
}

// steadyNow is a time at which the steady certificates are valid.
var steadyNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newSteady(t testing.TB, serial byte, by *steady, names ...string) *steady {
	t.Helper()
	s := &steady{key: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{serial}, ed25519.SeedSize))}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(serial)), Subject: pkix.Name{CommonName: "steady " + strconv.Itoa(int(serial))},
		NotBefore: steadyNow.Add(-time.Hour), NotAfter: steadyNow.Add(20 * time.Hour), BasicConstraintsValid: true,
		DNSNames: names, IPAddresses: []net.IP{net.IPv6loopback}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if by == nil {
		by = s
		template.IsCA, template.KeyUsage, template.IPAddresses = true, x509.KeyUsageCertSign, nil
	}
	issuer := by.cert
	if issuer == nil {
		issuer = template
	}
	der, err := x509.CreateCertificate(nil, template, issuer, s.key.Public(), by.key)
	if err != nil {
		t.Fatal(err)
	}
	if s.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *steady) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.cert.Raw})
}

// FuzzConfiguration judges any configuration, with one certificate served at each of its addresses. Admission must be
// off guard exactly if the API server's own client can't connect, or doesn't trust the certificate.
func FuzzConfiguration(f *testing.F) {
	golden.Seeds(f)
	authority := newSteady(f, 1, nil)
	leaf := newSteady(f, 2, authority, "localhost", "hook.ns.svc")
	bundle, others := authority.pem(), newSteady(f, 3, nil).pem()
	type config = admissionregistrationv1.WebhookClientConfig
	service := func(name string, port *int32) *admissionregistrationv1.ServiceReference {
		return &admissionregistrationv1.ServiceReference{Namespace: "ns", Name: name, Port: port}
	}
	for _, configs := range [][]config{
		{{Service: service("hook", nil), CABundle: bundle}},
		{{Service: service("hook", ptr.To[int32](8443)), CABundle: append(slices.Clone(others), bundle...)}},
		{{Service: service("hook", nil), CABundle: others}, {Service: service("", nil), CABundle: bundle}},
		{{Service: service("other", nil), CABundle: bundle}, {Service: service("hook", nil), CABundle: []byte("x")}},
		{{URL: ptr.To("https://localhost/validate"), CABundle: bundle},
			{URL: ptr.To("https://localhost:9443/"), CABundle: others}},
		{{URL: ptr.To("https://[::1]:9443"), CABundle: bundle}, {URL: ptr.To("https://localhost")}, {}},
		{{URL: ptr.To("https://:443"), CABundle: bundle}, {URL: ptr.To("https://localhost:0"), CABundle: bundle}},
		{{URL: ptr.To("https://localhost:65536"), CABundle: bundle}, {URL: ptr.To("%"), CABundle: bundle}},
		{{URL: ptr.To("http://localhost"), CABundle: bundle}, {URL: ptr.To("localhost:443"), CABundle: bundle}},
	} {
		var c admissionregistrationv1.ValidatingWebhookConfiguration
		for i := range configs {
			c.Webhooks = append(c.Webhooks, admissionregistrationv1.ValidatingWebhook{Name: "change", ClientConfig: configs[i]})
		}
		text, err := json.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"webhooks":[{"name":"a\nb","clientConfig":{"service":{"name":"a\nb","namespace":"c"}}}]}`))

	f.Fuzz(func(t *testing.T, text []byte) {
		c := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		if json.Unmarshal(text, c) != nil || len(c.Webhooks) > 4 {
			return
		}
		o := &observation{handshakes: map[target]handshake{}}
		o.configuration = known{kind: "ValidatingWebhookConfiguration", name: "mux", object: c, heard: true}
		gets := true
		for i := range c.Webhooks {
			config := &c.Webhooks[i].ClientConfig
			place := targetOf(config)
			o.handshakes[place] = handshake{served: []*x509.Certificate{leaf.cert}}
			checkTarget(t, config, place)
			faults, shakes := judgeEntry(&o.configuration, &c.Webhooks[i], place, o.handshakes[place], steadyNow), shakes(t,
				config, leaf)
			if off := slices.ContainsFunc(faults, func(f Fault) bool { return f.Reason.offGuard() }); off == shakes {
				t.Fatalf("%s: an API server connects: %v; faults: %+v", place, shakes, faults)
			}
			gets = gets && shakes
		}
		status := judged(t, o, steadyNow)
		if status.OnGuard != gets {
			t.Errorf("on guard: %v, but an API server connects: %v: %+v", status.OnGuard, gets, status.Faults)
		}
	})
}

// judged judges twice, and checks that both results are equal and follow the rules for every result.
func judged(t *testing.T, o *observation, now time.Time) Status {
	t.Helper()
	if !o.tried() {
		t.Fatal("an address isn't tried")
	}
	status := judge(o, now)
	if diff := cmp.Diff(status, judge(o, now)); diff != "" {
		t.Fatalf("the second judgement differs:\n%s", diff)
	}
	lines := 0
	for _, fault := range status.Faults {
		if !slices.Contains(Reasons(), fault.Reason) || fault.Object == "" || !strings.Contains(fault.Message, fault.Object) {
			t.Errorf("a fault is incomplete: %+v", fault)
		}
		if fault.Reason != ExpiresSoon {
			lines++
		}
	}
	said := 0
	if err := status.Ready(); err != nil {
		said = len(strings.Split(err.Error(), "\n"))
	}
	if said != lines {
		t.Errorf("%d lines for %d faults: %v", said, lines, status.Ready())
	}
	return status
}

// checkTarget compares the address with the one that HTTP's own client uses.
func checkTarget(t *testing.T, config *admissionregistrationv1.WebhookClientConfig, place target) {
	t.Helper()
	host, port, able := asked(config)
	switch {
	case !able && place != target{}:
		t.Errorf("%+v is the address, but the client has none", place)
	case able && config.Service == nil && isASCII(host) && place != target{host: host, port: port}:
		// the client converts other hosts to ASCII
		t.Errorf("%q is parsed as %+v, but the client uses %s:%d", *config.URL, place, host, port)
	case able && place.service == "":
		if again, number, err := net.SplitHostPort(place.String()); err != nil || again != place.name() ||
			number != strconv.Itoa(int(place.port)) {
			t.Errorf("%q can't be split into host and port", place)
		}
	case able && (place.name() != host || place.port != port):
		t.Errorf("%+v, but the client uses %s:%d", place, host, port)
	}
}

// asked returns the name and port that an API server connects to, or false if it can't.
func asked(config *admissionregistrationv1.WebhookClientConfig) (string, int32, bool) {
	if service := config.Service; service != nil {
		port := ptr.Deref(service.Port, 443)
		return service.Name + "." + service.Namespace + ".svc", port,
			service.Name != "" && service.Namespace != "" && port > 0 && port < 1<<16
	}
	address, err := url.Parse(ptr.Deref(config.URL, ""))
	if err != nil || address.Scheme != "https" {
		return "", 0, false
	}
	dialled := ""
	transport := &http.Transport{DialTLSContext: func(_ context.Context, _, address string) (net.Conn, error) {
		dialled = address
		return nil, errors.New("stop here: only the address matters")
	}}
	request := &http.Request{Method: http.MethodPost, Header: http.Header{},
		URL: &url.URL{Scheme: address.Scheme, Host: address.Host}}
	if _, err := transport.RoundTrip(request); err == nil {
		return "", 0, false
	}
	host, number, err := net.SplitHostPort(dialled)
	port, wrong := strconv.ParseUint(number, 10, 16)
	return host, int32(port), err == nil && wrong == nil && host != "" && port > 0
}

// shakes returns whether an API server with a configuration's entry accepts a served certificate.
func shakes(t *testing.T, config *admissionregistrationv1.WebhookClientConfig, serves *steady) bool {
	t.Helper()
	name, _, able := asked(config)
	if !able {
		return false
	}
	if !isASCII(name) {
		t.Skip("an API server uses the punycode name of such a host, but the guard the written name")
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(config.CABundle) {
		return false // the machine's own CAs haven't signed it
	}
	here, there := net.Pipe()
	defer here.Close()
	go func() {
		defer there.Close()
		_ = tls.Server(there, &tls.Config{Certificates: []tls.Certificate{
			{Certificate: [][]byte{serves.cert.Raw}, PrivateKey: serves.key}}}).Handshake()
	}()
	client := tls.Client(here, &tls.Config{ServerName: name, RootCAs: roots, Time: func() time.Time { return steadyNow }})
	return client.Handshake() == nil
}

func isASCII(s string) bool { return !strings.ContainsFunc(s, func(r rune) bool { return r > 127 }) }

// FuzzServed judges any served certificates at a valid address, with any bundle, at any time. A certificate without
// faults has a name, a valid period and a trusted signature. A certificate that counts as expired is expired.
func FuzzServed(f *testing.F) {
	golden.Seeds(f)
	authority := newSteady(f, 1, nil)
	leaf := newSteady(f, 2, authority, "localhost")
	bundle := authority.pem()
	chain := append(slices.Clone(leaf.cert.Raw), authority.cert.Raw...)
	for _, hours := range []int16{0, -3, 16, 19, 21} {
		f.Add(leaf.cert.Raw, bundle, hours)
	}
	f.Add(chain, bundle, int16(0))
	f.Add(chain, newSteady(f, 3, nil).pem(), int16(0))
	f.Add(leaf.cert.Raw, leaf.pem(), int16(0))
	f.Add(newSteady(f, 4, authority, "elsewhere").cert.Raw, bundle, int16(0))
	f.Add(authority.cert.Raw, bundle, int16(0))
	f.Fuzz(func(t *testing.T, der, bundle []byte, hours int16) {
		served, err := x509.ParseCertificates(der)
		if err != nil || len(served) == 0 || len(served) > 8 {
			return
		}
		now, address := steadyNow.Add(time.Duration(hours)*time.Hour), "https://localhost"
		o := &observation{handshakes: map[target]handshake{{host: "localhost", port: 443}: {served: served}}}
		o.configuration = known{kind: "ValidatingWebhookConfiguration", name: "mux", heard: true}
		o.configuration.object = &admissionregistrationv1.ValidatingWebhookConfiguration{
			Webhooks: []admissionregistrationv1.ValidatingWebhook{
				{Name: "change", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &address, CABundle: bundle}},
			}}
		status := judged(t, o, now)
		if len(status.Faults) > 1 {
			t.Errorf("several faults of one certificate: %+v", status.Faults)
		}
		if !status.NotAfter.Equal(served[0].NotAfter) {
			t.Errorf("the end is %s, want %s", status.NotAfter, served[0].NotAfter)
		}
		all := append(bundled(bundle), served...)
		if status.OnGuard {
			checkTrusted(t, served[0], all, now)
		}
		over := func(c *x509.Certificate) bool { return now.Before(c.NotBefore) || now.After(c.NotAfter) }
		if len(status.Faults) == 1 && status.Faults[0].Reason == CertificateExpired && !slices.ContainsFunc(all, over) {
			t.Errorf("no certificate has expired: %+v", status.Faults)
		}
	})
}

func checkTrusted(t *testing.T, leaf *x509.Certificate, others []*x509.Certificate, now time.Time) {
	t.Helper()
	if now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) {
		t.Errorf("the certificate is valid from %s to %s, but accepted at %s", leaf.NotBefore, leaf.NotAfter, now)
	}
	if err := leaf.VerifyHostname("localhost"); err != nil {
		t.Error(err)
	}
	if !slices.ContainsFunc(others, func(by *x509.Certificate) bool {
		return leaf.Equal(by) || leaf.CheckSignatureFrom(by) == nil
	}) {
		t.Error("no certificate of the bundle has signed it")
	}
}

// bundled returns the certificates of a bundle.
func bundled(bundle []byte) []*x509.Certificate {
	var all []*x509.Certificate
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			all = append(all, cert)
		}
	}
	return all
}

// FuzzCertificate judges any Certificate of cert-manager's. It is at fault unless its first Ready condition is True and
// its Issuer exists. Admission stays on guard in any case.
func FuzzCertificate(f *testing.F) {
	golden.Seeds(f)
	for _, conditions := range []string{
		``, `{"type":"Ready","status":"True"}`, `{"type":"Ready","status":"Unknown"}`,
		`{"type":"Ready","status":"False","reason":"DoesNotExist","message":"no\nsecret"}`,
		`{"type":"Issuing","status":"True"},{"type":"Ready","status":"False","reason":"Pending"}`,
		`{"type":"Ready","status":"True"},{"type":"Ready","status":"False"}`,
	} {
		for _, lost := range []bool{false, true} {
			f.Add([]byte(`{"spec":{"secretName":"s","issuerRef":{"name":"i","kind":"ClusterIssuer"}},"status":{"conditions":[`+
				conditions+`]}}`), lost)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, lost bool) {
		crt := &cmapi.Certificate{}
		if json.Unmarshal(text, crt) != nil {
			return
		}
		o := &observation{certificates: []certificate{
			{known{kind: "Certificate", name: "hook", object: crt, heard: true}, lost}}}
		status := judged(t, o, steadyNow)
		i := slices.IndexFunc(crt.Status.Conditions, func(c cmapi.CertificateCondition) bool { return c.Type == "Ready" })
		ready := i >= 0 && crt.Status.Conditions[i].Status == cmmeta.ConditionTrue
		if well := len(status.Faults) == 0; well != (ready && !lost) || !status.OnGuard {
			t.Errorf("ready %v, issuer lost %v: on guard %v, %+v", ready, lost, status.OnGuard, status.Faults)
		}
		if lost != slices.ContainsFunc(status.Faults, func(f Fault) bool { return f.Reason == IssuerMissing }) {
			t.Errorf("issuer lost %v: %+v", lost, status.Faults)
		}
	})
}
