package look_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
	"nowake.ai/svc-lb-mux/cmd/svcmux/status"
)

// lines is a writer that a test can wait on.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lines) await(t *testing.T, part string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(l.String(),
		part); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q isn't printed:\n%s", part, l)
		}
	}
}

// TestWatchPrintsLinesThatChange changes a mux twice at once, and expects one more line.
func TestWatchPrintsLinesThatChange(t *testing.T) {
	kubeconfig, server := looktest.Load(t, "looktest/testdata/several.yaml").Serve(t)
	changes := make(chan corev1.Service)
	server.Stream = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		for r.Context().Err() == nil {
			select {
			case <-r.Context().Done():
				return
			case svc := <-changes:
				text, _ := json.Marshal(svc)
				fmt.Fprintf(w, `{"type":"MODIFIED","object":%s}`+"\n", text)
				w.(http.Flusher).Flush()
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	out, ended := &lines{}, make(chan error, 1)
	cmd := status.Command(cli.Env{Program: "svcmux", Out: out, Err: &lines{}, Now: looktest.Now,
		Getenv: func(string) string { return "" }})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"--kubeconfig", kubeconfig, "-w"})
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	out.await(t, "svc-mux/mux")
	for i := range 2 {
		changes <- corev1.Service{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: "other", ResourceVersion: fmt.Sprint(8 + i),
				Annotations: map[string]string{
					"svc-mux.nowake.ai/multiplexer": "true", "svc-mux.nowake.ai/port-range": "30000",
				}},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
				Ports: []corev1.ServicePort{{Name: "placeholder", Port: 101}}},
			Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{
				Ingress: []corev1.LoadBalancerIngress{{IP: fmt.Sprintf("203.0.113.%d", 20+i)}}}},
		}
	}
	out.await(t, "203.0.113.21")
	stop()
	if err := <-ended; err != nil {
		t.Errorf("an interrupted watch fails: %v", err)
	}
	want := `MUX            ADDRESS       PROVIDER   PORTS    FREE   CHANNELS   STATE     FULL
edge/nowhere   -             -          -        -      0/1        missing   -
edge/other     -             other      0/5000   1      0/0        pending   -
svc-mux/mux    203.0.113.7   other      4/5000   9      2/2        ok        -
edge/other     203.0.113.21   other      0/5000   1      0/0        ok        -
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}
