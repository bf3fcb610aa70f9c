package webhook

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	admissionv1 "k8s.io/api/admission/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

// FuzzAdmissionReview posts any body. The answer must be a 4xx, or a response that an API server accepts. The handler
// here doesn't recover panics.
func FuzzAdmissionReview(f *testing.F) {
	golden.Seeds(f)
	bad := annotated("external-ports", "http:0,grpc:http")
	update := request(f, bad, bad)
	good := request(f, nil, channel(nil))
	api := named("team-a", "api", 80)
	mux := testMux(f, map[string]string{"port-range": "20000-20009"}, api)
	for _, req := range []*admissionv1.AdmissionRequest{
		good, update, request(f, nil, bad), request(f, mux, mux), deletionOf(f, mux),
		request(f, annotated("disabled", "true"), annotated("external-ports", "http:auto")),
	} {
		f.Add(body(f, req))
	}
	f.Add([]byte(strings.Replace(string(body(f, good)), `"port":80`, `"port":1e9`, 1)))
	f.Add([]byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1"}}`))
	f.Add([]byte("[[[["))

	h := &handler{lang: testLanguage(f), log: zap.NewNop(), metrics: newMetrics(prometheus.NewRegistry()),
		budget: newBudget()}
	seer := newSeer(f, mux, api)
	h.predictor = seer.predictor
	f.Fuzz(func(t *testing.T, data []byte) {
		r := httptest.NewRequest(http.MethodPost, Path, bytes.NewReader(data))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if seer.logs.Len() > 0 {
			t.Fatalf("a prediction failed: %s", seer.logs)
		}
		if w.Code != http.StatusOK {
			if w.Code < 400 || w.Code > 499 {
				t.Errorf("code %d: %s", w.Code, w.Body)
			}
			return
		}
		var review admissionv1.AdmissionReview
		if err := json.Unmarshal(w.Body.Bytes(), &review); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
		checkAnswer(t, review)
	})
}

func checkAnswer(t *testing.T, review admissionv1.AdmissionReview) {
	t.Helper()
	response := review.Response
	switch {
	case review.APIVersion != apiVersion || review.Kind != kind || response == nil || response.UID == "":
		t.Fatalf("an answer that no API server accepts: %+v", review)
	case !response.Allowed && (response.Result == nil || response.Result.Code < 400 || response.Result.Message == ""):
		t.Errorf("a denial without a message: %+v", response)
	case len(response.Patch) > 0 || response.PatchType != nil:
		t.Errorf("a validating webhook must not patch: %+v", response)
	}
	checkWarnings(t, response.Warnings)
}
