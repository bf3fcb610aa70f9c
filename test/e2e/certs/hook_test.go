package certs

import (
	"context"
	"crypto/tls"
	"maps"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/certs"
	"nowake.ai/svc-lb-mux/certs/certstest"
	"nowake.ai/svc-lb-mux/validation"
	"nowake.ai/svc-lb-mux/webhook"
)

// mountLag is the delay from a change of a Secret to the change of its volume. A kubelet takes a minute or two; here it
// only matters that others notice earlier.
const mountLag = 3 * time.Second

// hook is the webhook's handler with the certificate from its volume. Each review needs a new connection, and so a
// handshake.
type hook struct {
	files *certs.Files
	stop  context.CancelFunc
}

func (r *release) serve(t *testing.T) {
	t.Helper()
	volume := certstest.NewVolume(t)
	ctx, cancel := detached(t)
	files := certs.NewFiles(certs.FilesOptions{CertFile: volume.CertFile(), KeyFile: volume.KeyFile(),
		Interval: 200 * time.Millisecond},
		zap.NewNop(), prometheus.NewRegistry())
	go files.Run(ctx)
	go r.mount(ctx, t, volume)

	language, err := validation.New(r.prefix, namespace)
	if err != nil {
		t.Fatal(err)
	}
	reviews := webhook.NewHandler(language, zap.NewNop(), prometheus.NewRegistry())
	server := &http.Server{
		TLSConfig:         &tls.Config{GetCertificate: files.GetCertificate, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          zap.NewStdLog(zap.NewNop()),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "close")
			reviews.ServeHTTP(w, r)
		}),
	}
	listener, err := r.w.Inside().Listen("tcp", net.JoinHostPort(r.w.machine(t), r.port))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	r.w.Apply(t, `
apiVersion: v1
kind: Service
metadata: {name: `+r.webhook()+`, namespace: `+namespace+`}
spec: {ports: [{name: reviews, port: 443}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: `+r.webhook()+`, namespace: `+namespace+`, labels: {kubernetes.io/service-name: `+r.webhook()+`}}
addressType: IPv4
ports: [{name: reviews, port: `+r.port+`}]
endpoints: [{addresses: [`+r.w.machine(t)+`]}]
`)
	r.hook = hook{files: files, stop: func() { cancel(); _ = server.Close() }}
	t.Cleanup(r.hook.stop)
}

// mount acts as the kubelet: it copies the Secret into the volume in one step, with a delay. Without a Secret the
// volume stays as it is.
func (r *release) mount(ctx context.Context, t *testing.T, volume *certstest.Volume) {
	var mounted map[string][]byte
	for ctx.Err() == nil {
		secret, err := r.w.Client.CoreV1().Secrets(namespace).Get(ctx, r.secret(), metav1.GetOptions{})
		if err == nil && !maps.EqualFunc(mounted, secret.Data, func(a, b []byte) bool { return string(a) == string(b) }) {
			first := mounted == nil // a new pod waits for its Secret, and mounts it without delay
			mounted = secret.Data
			if !first && !pause(ctx, mountLag) {
				return
			}
			volume.Put(t, certstest.Pair{Cert: mounted["tls.crt"], Key: mounted["tls.key"]})
		}
		if !pause(ctx, 100*time.Millisecond) {
			return
		}
	}
}

func pause(ctx context.Context, span time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(span):
		return true
	}
}
