package admission

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// webhook allows everything and records the requests.
type webhook struct {
	server *http.Server
	ca     string // PEM

	mu    sync.Mutex
	heard []string // requests, such as "UPDATE services team-w/web"
}

func serveWebhook(t *testing.T, w world) *webhook {
	t.Helper()
	certificate, ca := selfSigned(t, webhookName+"."+namespace+".svc")
	hook := &webhook{ca: ca}
	hook.server = &http.Server{Handler: hook, ReadHeaderTimeout: time.Minute}
	listener, err := w.Inside().Listen("tcp", net.JoinHostPort(machine(t, w), reviewPort))
	if err != nil {
		t.Fatal(err)
	}
	tlsConfig := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	go func() { _ = hook.server.Serve(tls.NewListener(listener, tlsConfig)) }()
	t.Cleanup(func() { _ = hook.server.Close() })
	w.Apply(t, endpoints(t, w))
	return hook
}

func (h *webhook) ServeHTTP(out http.ResponseWriter, request *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(request.Body).Decode(&review); err != nil || request.URL.Path != "/validate" {
		http.Error(out, "want a review at /validate", http.StatusBadRequest)
		return
	}
	r := review.Request
	h.mu.Lock()
	what := r.Resource.Resource
	if r.SubResource != "" {
		what += "/" + r.SubResource
	}
	h.heard = append(h.heard, fmt.Sprintf("%s %s %s/%s", r.Operation, what, r.Namespace, r.Name))
	h.mu.Unlock()
	review.Response = &admissionv1.AdmissionResponse{UID: r.UID, Allowed: true}
	review.Request = nil
	var answer bytes.Buffer
	_ = json.NewEncoder(&answer).Encode(review)
	out.Header().Set("Content-Type", "application/json")
	_, _ = out.Write(answer.Bytes())
}

// take returns the requests since the last call.
func (h *webhook) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	heard := h.heard
	h.heard = nil
	return heard
}

// expect compares the requests since the last call. The API server may call the webhook twice for one request: it
// retries if the object changed meanwhile, or if its cache was stale.
func (h *webhook) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	if got := slices.Compact(h.take()); !slices.Equal(got, want) {
		t.Errorf("%s: the webhook got %q, want %q", what, got, want)
	}
}

func waitForWebhook(t *testing.T, w world, hook *webhook) {
	t.Helper()
	cluster.Eventually(t, "the webhook is asked", func(ctx context.Context) error {
		_, err := w.user.CoreV1().Services(team).Create(ctx, aChannel("first"), dry())
		if err == nil && len(hook.take()) == 0 {
			err = errors.New("the webhook wasn't called")
		}
		return err
	})
	hook.take()
}
