package console

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/certs/certstest"
	"nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// testTLS serves the console over TLS, and renews the certificate meanwhile.
func (w *world) testTLS(t *testing.T) {
	authority, volume := certstest.NewAuthority(t), certstest.NewVolume(t)
	volume.Put(t, authority.Pair(t, time.Now().Add(time.Hour)))
	r := w.reconcile(t, func(p *run.Process) {
		p.Options.ConsoleCert, p.Options.ConsoleKey = volume.CertFile(), volume.KeyFile()
	})
	served := ""
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, // the certificate is for another name; the test only compares certificates
		VerifyConnection: func(state tls.ConnectionState) error {
			served = state.PeerCertificates[0].SerialNumber.String()
			return nil
		},
	}}}
	ask := func(context.Context) error {
		answer, err := client.Get("https://" + r.address + "/api/config")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err == nil &&
			(!strings.Contains(string(body), `"readOnly":true`) || answer.Header.Get("Strict-Transport-Security") == "") {
			t.Errorf("the answer is %s with %v", body, answer.Header)
		}
		return err
	}
	cluster.Eventually(t, "the first certificate is served", ask)
	first := served
	volume.Put(t, authority.Pair(t, time.Now().Add(2*time.Hour)))
	cluster.Eventually(t, "the renewed certificate is served", func(ctx context.Context) error {
		if err := ask(ctx); err != nil || served != first {
			return err
		}
		return io.ErrNoProgress
	})
	if answer, err := http.Get("http://" + r.address + "/api/config"); err == nil && answer.StatusCode == http.StatusOK {
		t.Error("the console is served without TLS, too")
	}
}
