package admission

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// hostileBodies posts bodies to the webhook that the API server never sends.
func hostileBodies(t *testing.T, w world, ca string) {
	client := w.Inside().HTTP()
	transport, ok := client.Transport.(*http.Transport)
	if !ok {
		t.Fatal("the client has another transport than expected")
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(ca))
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, ServerName: webhookName + "." + namespace + ".svc",
		MinVersion: tls.VersionTLS12}
	url := "https://" + machine(t, w) + ":" + reviewPort + "/validate"
	for name, body := range map[string]string{
		"nothing":            "",
		"not JSON":           "hello",
		"cut off":            `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"x","obj`,
		"another kind":       `{"apiVersion":"v1","kind":"Pod"}`,
		"an older version":   `{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"x"}}`,
		"no request":         `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`,
		"nested without end": strings.Repeat("[", 100_000),
		"ten megabytes":      `{"apiVersion":"` + strings.Repeat("x", 10<<20) + `"}`,
		"a Service cut short": `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"x",` +
			`"operation":"CREATE","kind":{"version":"v1","kind":"Service"},"resource":{"version":"v1","resource":"services"},` +
			`"object":null}}`,
	} {
		response, err := client.Post(url, "application/json", bytes.NewReader([]byte(body)))
		if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
			continue // the webhook closed the connection during the request
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		answer, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		denied := response.StatusCode == http.StatusOK && bytes.Contains(answer, []byte(`"allowed":false`))
		if err != nil || (!denied && (response.StatusCode < 400 || response.StatusCode > 499)) {
			t.Errorf("%s: %s %.200s, %v", name, response.Status, answer, err)
		}
	}
}

func counted(t *testing.T, w world) {
	text, err := fetch(t.Context(), w, "http://"+machine(t, w)+":"+healthPort+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{
		`svc_lb_mux_admission_reviews_total{.*decision="allowed".*}`,
		`svc_lb_mux_admission_reviews_total{.*decision="denied".*}`,
		`svc_lb_mux_admission_denials_total{reason="InvalidPortMapping"}`,
		`svc_lb_mux_admission_failed_requests_total.*`, `svc_lb_mux_admission_review_duration_seconds_count`,
		`svc_lb_mux_certificate_expiry_timestamp_seconds`,
	} {
		if !regexp.MustCompile(`(?m)^` + pattern + ` [1-9]`).MatchString(text) {
			t.Errorf("no metric %s", pattern)
		}
	}
	if _, err := fetch(t.Context(), w, "http://"+machine(t, w)+":"+healthPort+"/readyz"); err != nil {
		t.Errorf("readiness: %v", err)
	}
}

func fetch(ctx context.Context, w world, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := w.Inside().HTTP().Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return string(body), err
}
