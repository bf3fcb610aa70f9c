package gitops

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"k8s.io/client-go/rest"

	"nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
	"nowake.ai/svc-lb-mux/validation"
	"nowake.ai/svc-lb-mux/webhook"
)

const (
	webhookName = release + "-webhook"
	webhookPort = "9443"
	agent       = "svc-lb-mux-reconciler"
)

// reconcile runs the reconciler as the chart's ServiceAccount, with the chart's rights.
func (w *world) reconcile(t *testing.T) {
	t.Helper()
	w.Apply(t, w.render(t, "reconciler-roles.yaml"))
	options := run.DefaultOptions(func(string) string { return "" })
	options.Namespace, options.LeaseName, options.ProbeAddress = namespace, release, "127.0.0.1:0"
	config := rest.CopyConfig(w.Config)
	config.QPS, config.Burst, config.UserAgent = -1, -1, agent+"/test"
	config.Impersonate.UserName = "system:serviceaccount:" + namespace + ":" + release
	log := &product.Log{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	process := run.Process{Options: options, Config: config, Version: "test", Logs: log, Now: time.Now}
	go func() { ended <- process.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the reconciler failed: %v", err)
		}
		if t.Failed() {
			t.Logf("reconciler's log:\n%s", log)
		}
	})
}

// serveWebhook runs our handler, and registers it with the API server by the chart's own configuration.
func (w *world) serveWebhook(t *testing.T) {
	t.Helper()
	language, err := validation.New(prefix, namespace)
	if err != nil {
		t.Fatal(err)
	}
	certificate, ca := selfSigned(t, webhookName+"."+namespace+".svc")
	machine := w.Kubectl(t, "get", "endpointslice", "kubernetes", "-o", "jsonpath={.endpoints[0].addresses[0]}")
	listener, err := w.Inside().Listen("tcp", net.JoinHostPort(machine, webhookPort))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(webhook.Path, webhook.NewHandler(language, zap.NewNop(), prometheus.NewRegistry()))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() {
		_ = server.Serve(tls.NewListener(listener,
			&tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}))
	}()
	t.Cleanup(func() { server.Close() })
	w.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: %[2]s}
spec: {ports: [{name: https, port: 443}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s, namespace: %[2]s, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{name: https, port: %[3]s}]
endpoints: [{addresses: [%[4]s]}]
`, webhookName, namespace, webhookPort, machine))
	w.Apply(t, w.render(t, "webhook-configuration.yaml",
		"certs.mode=provided", "certs.provided.secretName=ours", "certs.provided.caBundle="+ca))
	bad := place{infra: "default", shop: "default"}.manifests(t, "bad.yaml")
	cluster.Eventually(t, "the API server asks the webhook", func(ctx context.Context) error {
		_, err := w.TryKubectl(ctx, bad, "create", "--dry-run=server", "-f", "-")
		if err == nil || !strings.Contains(err.Error(), refusal) {
			return fmt.Errorf("it says %w", err)
		}
		return nil
	})
}

// render returns a rendered template of the chart.
func (w *world) render(t *testing.T, template string, set ...string) string {
	t.Helper()
	chart, err := filepath.Abs(filepath.Join("..", "..", "charts", "svc-lb-mux"))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"template", release, chart, "--namespace", namespace, "--show-only", "templates/" + template}
	for _, value := range set {
		args = append(args, "--set", value)
	}
	return w.Helm(t, args...)
}

func selfSigned(t *testing.T, name string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
