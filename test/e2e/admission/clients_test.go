package admission

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/corpus"
)

// TestWebhookAnswersAPIServersOnly uses an API server with a client certificate, set up as in
// docs/client-certificates.md. Clients without a certificate, or with another name, must be refused.
func TestWebhookAnswersAPIServersOnly(t *testing.T) {
	w := startWith(t, cluster.WebhookClient(webhookName+"."+namespace+".svc"))
	w.namespace(t, team)
	w.namespace(t, corpus.MuxNamespace)
	hook := runWebhook(t, w, "webhook", "--client-ca="+w.Config.CAFile, "--client-names="+cluster.WebhookClientName)
	defer hook.stop(t)
	// runWebhook waits until the API server gets an answer.

	admin, err := tls.LoadX509KeyPair(w.Config.CertFile, w.Config.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	for name, certificates := range map[string][]tls.Certificate{
		"no certificate": nil, "a certificate of the same CA for another name": {admin},
	} {
		t.Run(name, func(t *testing.T) {
			code, err := postAs(t, w, hook.ca, certificates)
			if err == nil || !strings.Contains(err.Error(), "tls: ") {
				t.Errorf("the handshake succeeds: code %d, %v", code, err)
			}
		})
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if _, err := fetch(t.Context(), w, "http://"+machine(t, w)+":"+healthPort+path); err != nil {
			t.Errorf("%s without a certificate: %v", path, err)
		}
	}
	w.Kubectl(t, "delete", "validatingwebhookconfiguration", clusterName)
}

// postAs posts an empty body to the webhook.
func postAs(t *testing.T, w world, ca string, certificates []tls.Certificate) (int, error) {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(ca))
	transport := &http.Transport{
		DialContext: w.Inside().Dial, TLSClientConfig: &tls.Config{
			RootCAs: pool, Certificates: certificates, ServerName: webhookName + "." + namespace + ".svc",
		},
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost,
		"https://"+machine(t, w)+":"+reviewPort+"/validate", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}
