package faults

import (
	"crypto/tls"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// seen holds the credentials that an API server sees in a request.
type seen struct {
	Authorization, As string
	Groups            []string
	Certificate       string
}

func TestCredentialsThatReachTheAPIServer(t *testing.T) {
	const own, token = "Bearer admin", "a-service-account"
	for name, test := range map[string]struct {
		choices []Option
		client  func(*Proxy) *rest.Config
		want    seen
	}{
		"the upstream's credentials, for a client without any": {
			client: (*Proxy).Config, want: seen{Authorization: own, Certificate: "127.0.0.1"},
		},
		"the user of As": {
			choices: []Option{As("jane", "devs", "ops")}, client: (*Proxy).Config,
			want: seen{Authorization: own, As: "jane", Groups: []string{"devs", "ops"}, Certificate: "127.0.0.1"},
		},
		"a client's own impersonation before As": {
			choices: []Option{As("jane")},
			client: func(p *Proxy) *rest.Config {
				config := p.Config()
				config.Impersonate.UserName = "joe"
				return config
			},
			want: seen{Authorization: own, As: "joe", Certificate: "127.0.0.1"},
		},
		"a client's own token, and nothing of the upstream's": {
			choices: []Option{As("jane")}, client: func(p *Proxy) *rest.Config { return p.ConfigFor(token) },
			want: seen{Authorization: "Bearer " + token},
		},
		"no user, if the client has neither a token nor the proxy's token": {
			client: func(p *Proxy) *rest.Config { return p.ConfigFor("") }, want: seen{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := startAPIServer(t, func(s *httptest.Server) { s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert} })
			proxy := startProxy(t, withCertificate(t, server.config()), test.choices...)
			if err := get(t.Context(), clientOf(t, test.client(proxy))); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, seenBy(server.last())); diff != "" {
				t.Errorf("the API server saw (-want +got):\n%s", diff)
			}
		})
	}
}

func seenBy(r *http.Request) seen {
	who := seen{
		Authorization: r.Header.Get("Authorization"),
		As:            r.Header.Get("Impersonate-User"),
		Groups:        r.Header.Values("Impersonate-Group"),
	}
	if len(r.TLS.PeerCertificates) > 0 {
		who.Certificate = r.TLS.PeerCertificates[0].IPAddresses[0].String()
	}
	if len(who.Groups) == 0 {
		who.Groups = nil
	}
	return who
}

// withCertificate adds a client certificate. Any will do, because the proxy doesn't verify it.
func withCertificate(t *testing.T, config *rest.Config) *rest.Config {
	t.Helper()
	certificate, key := selfSigned(t)
	config.CertData, config.KeyData = certificate, key
	return config
}

func TestAClientCertificatesNameIsTheUser(t *testing.T) {
	certificate, _ := selfSigned(t)
	config := &rest.Config{TLSClientConfig: rest.TLSClientConfig{CertData: certificate}}
	if got := configUser(config); got != "fault proxy" {
		t.Errorf("user %q", got)
	}
}

func TestKubeconfigHasTheProxysAddressAndCredentials(t *testing.T) {
	server, proxy, _ := startAll(t)
	for name, config := range map[string]*rest.Config{
		"Bearer admin": proxy.Config(),
		"Bearer own":   proxy.ConfigFor("own"),
	} {
		file := filepath.Join(t.TempDir(), "kubeconfig")
		if err := WriteKubeconfig(file, config); err != nil {
			t.Fatal(err)
		}
		read, err := clientcmd.BuildConfigFromFlags("", file)
		if err != nil {
			t.Fatal(err)
		}
		if err := get(t.Context(), clientOf(t, read)); err != nil {
			t.Fatal(err)
		}
		if got := server.last().Header.Get("Authorization"); got != name {
			t.Errorf("the API server saw %q, want %q", got, name)
		}
	}
}

func TestStartRefusesUnusableConfigurations(t *testing.T) {
	for name, config := range map[string]*rest.Config{
		"a transport of its own": {Host: "https://x", Transport: http.DefaultTransport},
		"no address":             {Host: "https://%"},
		"an invalid certificate": {Host: "https://x",
			TLSClientConfig: rest.TLSClientConfig{CertData: []byte("x"), KeyData: []byte("y")}},
	} {
		t.Run(name, func(t *testing.T) {
			proxy, err := Start(config)
			if err == nil {
				_ = proxy.Close() // the test fails in any case
				t.Fatal("the proxy started, want an error")
			}
			t.Log(err)
		})
	}
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
