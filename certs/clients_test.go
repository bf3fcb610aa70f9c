package certs_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"nowake.ai/svc-lb-mux/certs"
	"nowake.ai/svc-lb-mux/certs/certstest"
)

// greeted connects to a server that requires client certificates, and returns the error if the connection fails.
func greeted(t *testing.T, clients *certs.Clients, pair *certstest.Pair) error {
	t.Helper()
	serving := certstest.NewAuthority(t)
	own := serving.Pair(t, time.Now().Add(time.Hour))
	certificate, err := tls.X509KeyPair(own.Cert, own.Key)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}
	clients.Require(config)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	served := make(chan struct{})
	go func() {
		defer close(served)
		if conn, err := listener.Accept(); err == nil {
			_, _ = io.WriteString(conn, "hello")
			conn.Close()
		}
	}()
	defer func() { <-served }()
	client := &tls.Config{RootCAs: serving.Pool(), ServerName: "localhost"}
	if pair != nil {
		certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
		if err != nil {
			t.Fatal(err)
		}
		client.Certificates = []tls.Certificate{certificate}
	}
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	text, err := io.ReadAll(tls.Client(conn, client))
	if err == nil && string(text) != "hello" {
		err = errors.New("no greeting")
	}
	return err
}

func caFile(t *testing.T, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestClientNeedsCertificateOfTheCA(t *testing.T) {
	ours, others := certstest.NewAuthority(t), certstest.NewAuthority(t)
	for name, tc := range map[string]struct {
		names []string
		pair  *certstest.Pair
		want  bool
	}{
		"a certificate of the CA":         {pair: ours.Client(t, "apiserver"), want: true},
		"no certificate":                  {},
		"a certificate of another CA":     {pair: others.Client(t, "apiserver")},
		"a serving certificate of the CA": {pair: new(ours.Pair(t, time.Now().Add(time.Hour)))},
		"an allowed common name": {names: []string{"x", "apiserver"}, pair: ours.Client(t, "apiserver"),
			want: true},
		"an allowed DNS name": {names: []string{"api.example.com"},
			pair: ours.Client(t, "x", "api.example.com"), want: true},
		"another name": {names: []string{"apiserver"},
			pair: ours.Client(t, "kubelet", "node.example.com")},
		"a name that begins like the allowed": {names: []string{"apiserver"}, pair: ours.Client(t, "apiserver-2")},
	} {
		t.Run(name, func(t *testing.T) {
			clients := certs.NewClients(caFile(t, ours.PEM()), tc.names, time.Minute, zap.NewNop())
			clients.Look()
			if err := greeted(t, clients, tc.pair); (err == nil) != tc.want {
				t.Errorf("the handshake returns %v", err)
			}
		})
	}
}

func TestClientsFollowTheirCA(t *testing.T) {
	before, after := certstest.NewAuthority(t), certstest.NewAuthority(t)
	old, renewed := before.Client(t, "apiserver"), after.Client(t, "apiserver")
	file := caFile(t, nil)
	core, logs := observer.New(zap.InfoLevel)
	clients := certs.NewClients(file, nil, time.Minute, zap.New(core))
	look := func(content []byte) {
		t.Helper()
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		clients.Look()
	}
	admits := func(pair *certstest.Pair) bool { return greeted(t, clients, pair) == nil }

	look([]byte("nothing"))
	if err := clients.Ready(); err == nil || !strings.Contains(err.Error(), file) || admits(old) {
		t.Errorf("Ready returns nil without a CA: %v", err)
	}
	look(before.PEM())
	if err := clients.Ready(); err != nil || !admits(old) || admits(renewed) {
		t.Errorf("with the first CA: %v", err)
	}
	look(bytes.Join([][]byte{before.PEM(), after.PEM()}, nil))
	if !admits(old) || !admits(renewed) {
		t.Error("with both CAs, a client of one CA is refused")
	}
	look(after.PEM()[:200])
	if clients.Ready() != nil || clients.Remark() == "" || !admits(old) {
		t.Error("with a damaged file, the last good CA isn't used")
	}
	look(after.PEM())
	if admits(old) || !admits(renewed) || clients.Remark() != "" {
		t.Error("with only the second CA, the first is still accepted")
	}
	if errs := logs.FilterLevelExact(zap.ErrorLevel).Len(); errs != 2 {
		t.Errorf("%d errors are logged: %v", errs, logs.All())
	}
}

func TestRefusedNameIsLoggedOnce(t *testing.T) {
	authority := certstest.NewAuthority(t)
	core, logs := observer.New(zap.InfoLevel)
	clients := certs.NewClients(caFile(t, authority.PEM()), []string{"apiserver"}, time.Minute, zap.New(core))
	clients.Look()
	for range 3 {
		if greeted(t, clients, authority.Client(t, "kubelet")) == nil {
			t.Fatal("the client was accepted")
		}
	}
	if warnings := logs.FilterLevelExact(zap.WarnLevel).Len(); warnings != 1 {
		t.Errorf("%d warnings", warnings)
	}
}
