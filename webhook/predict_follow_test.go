package webhook

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/validation/flags"
)

// apiServer serves Services without watch lists, or refuses all requests.
type apiServer struct {
	*httptest.Server
	services []corev1.Service
	late     *corev1.Service // a live read returns this Service, but no list or watch does
	refuses  atomic.Bool
	asked    atomic.Int64
	cut      chan struct{} // ends an open watch
}

func newAPIServer(t *testing.T, services ...*corev1.Service) *apiServer {
	t.Helper()
	s := &apiServer{cut: make(chan struct{})}
	for _, svc := range services {
		s.services = append(s.services, *svc)
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	query := r.URL.Query()
	switch {
	case s.refuses.Load():
		s.status(w, http.StatusForbidden, metav1.StatusReasonForbidden)
	case query.Get("sendInitialEvents") != "":
		s.status(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	case query.Get("watch") != "":
		w.Header().Set("Content-Type", "application/json")
		w.(http.Flusher).Flush()
		select {
		case <-s.cut:
		case <-r.Context().Done():
		}
	case strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/"):
		late := s.late
		if late == nil || !strings.HasSuffix(r.URL.Path, late.Namespace+"/services/"+late.Name) {
			s.status(w, http.StatusNotFound, metav1.StatusReasonNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(late)
	default:
		list := corev1.ServiceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceList"}, Items: s.services}
		list.ResourceVersion = "1"
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	}
}

func (s *apiServer) status(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code),
		Reason: reason, Message: "services is forbidden",
	})
}

func (s *apiServer) kubeconfig(t *testing.T) string { return kubeconfigOf(t, s.URL) }

// kubeconfigOf writes a kubeconfig for a server.
func kubeconfigOf(t *testing.T, url string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c",` +
		`"context":{"cluster":"c"}}],` +
		`"clusters":[{"name":"c","cluster":{"server":"` + url + `"}}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// following starts a predictor that follows an API server.
func following(t *testing.T, kubeconfig string) (*predictor, *safeBuffer) {
	return followingWith(t, PredictOptions{Predict: "true", Kubeconfig: kubeconfig})
}

func followingWith(t *testing.T, predict PredictOptions) (*predictor, *safeBuffer) {
	t.Helper()
	logs := &safeBuffer{}
	options := Options{PredictOptions: predict}
	foresight, follow := newPredictor(options, testLanguage(t), "v0-test", newLog(zapcore.InfoLevel, logs),
		prometheus.NewRegistry())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		follow(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		stop()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Error("the foresight doesn't end")
		}
	})
	return foresight, logs
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not true in time: %s", what)
		}
	}
}

func TestPredictionsStartOnceServicesAreKnown(t *testing.T) {
	api := named("team-b", "api", 8080)
	server := newAPIServer(t, testMux(t, nil, api), api)
	foresight, logs := following(t, server.kubeconfig(t))
	eventually(t, "ready", foresight.ready)
	got := review(testLanguage(t), foresight, nil, request(t, nil, named("team-a", "web", 8080))).Response
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], conflict) {
		t.Errorf("the warnings are %q", got.Warnings)
	}
	if testutil.ToFloat64(foresight.metrics.readyGauge) != 1 || strings.Count(logs.String(), "\n") != 1 {
		t.Errorf("known: %v, log: %s", testutil.ToFloat64(foresight.metrics.readyGauge), logs)
	}
}

// TestMuxThatWasJustCreatedIsNotCalledMissing reviews a channel whose mux exists, but hasn't reached the index yet: one
// kubectl apply may have created both.
func TestMuxThatWasJustCreatedIsNotCalledMissing(t *testing.T) {
	mux := testMux(t, nil)
	mux.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}
	stranger := mux.DeepCopy()
	stranger.Annotations = nil
	for name, c := range map[string]struct {
		late  *corev1.Service
		warns bool
	}{
		"it exists":      {late: mux},
		"it doesn't":     {warns: true},
		"it isn't a mux": {late: stranger, warns: true},
	} {
		t.Run(name, func(t *testing.T) {
			server := newAPIServer(t)
			server.late = c.late
			foresight, _ := following(t, server.kubeconfig(t))
			eventually(t, "ready", foresight.ready)
			got := review(testLanguage(t), foresight, nil, request(t, nil, named("team-a", "web", 8080))).Response
			if warns := len(got.Warnings) > 0; warns != c.warns || !got.Allowed {
				t.Errorf("allowed %v, the warnings are %q", got.Allowed, got.Warnings)
			}
		})
	}
}

func TestMissingRightsAreLoggedOnceAndRetried(t *testing.T) {
	server := newAPIServer(t, testMux(t, nil))
	server.refuses.Store(true)
	foresight, logs := following(t, server.kubeconfig(t))
	eventually(t, "asked several times", func() bool { return server.asked.Load() > 4 })
	if foresight.ready() || testutil.ToFloat64(foresight.metrics.readyGauge) != 0 {
		t.Error("ready without Services")
	}
	if log := logs.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, "no predictions are made") ||
		!strings.Contains(log, "services is forbidden") {
		t.Errorf("the log is %s", log)
	}
	server.refuses.Store(false)
	eventually(t, "ready", foresight.ready)
	if log := logs.String(); strings.Count(log, "\n") != 2 || !strings.Contains(log, "predictions are made: all") {
		t.Errorf("the log is %s", log)
	}
}

func TestPredictionsPauseWhileServicesAreUnreadable(t *testing.T) {
	server := newAPIServer(t, testMux(t, nil))
	foresight, logs := following(t, server.kubeconfig(t))
	eventually(t, "ready", foresight.ready)
	server.refuses.Store(true)
	server.cut <- struct{}{}
	eventually(t, "paused", func() bool { return !foresight.ready() })
	server.refuses.Store(false)
	eventually(t, "ready again", foresight.ready)
	if log := logs.String(); strings.Count(log, "\n") != 3 {
		t.Errorf("the log is %s", log)
	}
}

func TestReviewsWorkWithoutTheAPIServer(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for _, kubeconfig := range []string{"", "/does/not/exist"} {
		foresight, logs := following(t, kubeconfig)
		if got := review(testLanguage(t), foresight, nil, request(t, nil, channel(nil))).Response; !got.Allowed ||
			got.Warnings != nil {
			t.Errorf("the answer is %v", got)
		}
		if log := logs.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, "predictions are off") {
			t.Errorf("the log is %s", log)
		}
	}
}

func TestProcessUsesTheAPIServerOnlyForPredictions(t *testing.T) {
	for name, predict := range map[string]flags.Switch{"off": "", "on": "true"} {
		t.Run(name, func(t *testing.T) {
			server := newAPIServer(t)
			server.refuses.Store(true)
			r := start(t, func(r *running, options *Options) {
				withCertificate(t)(r, options)
				options.Predict, options.Kubeconfig = predict, server.kubeconfig(t)
			})
			r.awaitReady(t, http.StatusOK)
			if predict == "true" {
				eventually(t, "asked", func() bool { return server.asked.Load() > 0 })
			}
			_, metrics := r.probe(t, MetricsPath)
			if got := strings.Contains(metrics, "svc_lb_mux_admission_predictions_ready 0"); got != (predict == "true") {
				t.Errorf("a metric about predictions: %v", got)
			}
			r.end(t)
			if asked := server.asked.Load(); (asked > 0) != (predict == "true") {
				t.Errorf("the API server got %d requests", asked)
			}
		})
	}
}
