package webhook

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap/zapcore"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestHostileRequestsAreRefusedWithoutAnAnswer(t *testing.T) {
	good := string(body(t, request(t, nil, channel(nil))))
	type ask struct {
		method, contentType, body string
	}
	post := func(body string) ask { return ask{http.MethodPost, "application/json", body} }
	tests := map[string]struct {
		ask  ask
		code int
		text string
	}{
		"a GET":                      {ask{http.MethodGet, "application/json", good}, 405, `method "GET"`},
		"a DELETE":                   {ask{http.MethodDelete, "application/json", good}, 405, `method "DELETE"`},
		"no content type":            {ask{http.MethodPost, "", good}, 415, "application/json"},
		"YAML":                       {ask{http.MethodPost, "application/yaml", good}, 415, "application/yaml"},
		"a form":                     {ask{http.MethodPost, "application/x-www-form-urlencoded", good}, 415, "form"},
		"a broken content type":      {ask{http.MethodPost, "application/json; =", good}, 415, "application/json"},
		"an empty body":              {post(""), 400, "empty"},
		"only white space":           {post(" \n\t"), 400, "no AdmissionReview"},
		"no JSON":                    {post("apiVersion: admission.k8s.io/v1"), 400, "no AdmissionReview"},
		"truncated JSON":             {post(good[:len(good)-20]), 400, "no AdmissionReview"},
		"something after the JSON":   {post(good + "{}"), 400, "no AdmissionReview"},
		"100,000 open lists":         {post(strings.Repeat("[", 100_000)), 400, "no AdmissionReview"},
		"100,000 open objects":       {post(strings.Repeat(`{"request":`, 100_000)), 400, "no AdmissionReview"},
		"a deep object in a request": {post(deep(good)), 400, "no AdmissionReview"},
		"null":                       {post("null"), 400, `"" of ""`},
		"a number":                   {post("1"), 400, "no AdmissionReview"},
		"an empty object":            {post("{}"), 400, "AdmissionReview of admission.k8s.io/v1"},
		"v1beta1":                    {post(strings.Replace(good, "k8s.io/v1", "k8s.io/v1beta1", 1)), 400, "v1beta1"},
		"another kind":               {post(strings.Replace(good, "AdmissionReview", "Pod", 1)), 400, `"Pod"`},
		"a review without a request": {post(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`), 400,
			"no request"},
		"a request without a uid":  {post(strings.Replace(good, "0af3", "", 1)), 400, "uid"},
		"a response for a request": {post(strings.Replace(good, `"request"`, `"response"`, 1)), 400, "no request"},
		"10 MB of white space":     {post(strings.Repeat(" ", 10<<20)), 413, "8388608"},
		"10 MB in one annotation": {post(string(body(t, request(t, nil, annotated("x", strings.Repeat("x", 10<<20)))))),
			413, "8388608"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			door := newDoor(t, zapcore.InfoLevel)
			for _, announced := range []bool{true, false} {
				r := httptest.NewRequest(tc.ask.method, Path, strings.NewReader(tc.ask.body))
				r.Header.Set("Content-Type", tc.ask.contentType)
				if !announced {
					r.ContentLength = -1
				}
				w := httptest.NewRecorder()
				door.ServeHTTP(w, r)
				if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.text) || w.Body.Len() > 1024 {
					t.Errorf("code %d, text %.200q; want %d, %q", w.Code, w.Body, tc.code, tc.text)
				}
			}
			if door.logs.Len() > 0 {
				t.Errorf("such requests fill the log: %s", door.logs)
			}
		})
	}
}

// deep puts a list of 20,000 levels into the object's annotations.
func deep(review string) string {
	lists := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	return strings.Replace(review, `"metadata":{`, `"metadata":{"annotations":`+lists+`,`, 1)
}

func TestOddObjectsAreDeniedOrPass(t *testing.T) {
	object := func(with func(map[string]any)) *admissionv1.AdmissionRequest {
		req := request(t, nil, channel(nil))
		var svc map[string]any
		if err := json.Unmarshal(req.Object.Raw, &svc); err != nil {
			t.Fatal(err)
		}
		with(svc)
		req.Object = raw(t, svc)
		return req
	}
	many := map[string]any{}
	for i := range 100_000 {
		many[strings.Repeat("x", i%50)+"/"+string(rune('a'+i%26))+strings.Repeat("y", i%97)] = "v"
	}
	tests := map[string]struct {
		req     *admissionv1.AdmissionRequest
		allowed bool
	}{
		"a port that is a word": {object(func(svc map[string]any) {
			svc["spec"].(map[string]any)["ports"] = []any{map[string]any{"name": "http", "port": "eighty"}}
		}), false},
		"a port beyond 32 bits": {object(func(svc map[string]any) {
			svc["spec"].(map[string]any)["ports"] = []any{map[string]any{"name": "http", "port": 1 << 40}}
		}), false},
		"a spec that is a list": {object(func(svc map[string]any) { svc["spec"] = []any{} }), false},
		"annotations that are a word": {
			object(func(svc map[string]any) { svc["metadata"] = map[string]any{"annotations": "x"} }), false},
		"no spec at all":   {object(func(svc map[string]any) { delete(svc, "spec") }), true},
		"an unknown field": {object(func(svc map[string]any) { svc["sepc"] = 1 }), true},
		"very many annotations": {object(func(svc map[string]any) { svc["metadata"] = map[string]any{"annotations": many} }),
			true},
		"invalid UTF-8 in an annotation of ours": {invalidUTF8(t, "svc-mux.nowake.ai/external-ports", "http:\xff\xfe"),
			false},
		"invalid UTF-8 in another annotation": {invalidUTF8(t, "example.com/x", "\xff"), true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			door := newDoor(t, zapcore.InfoLevel)
			if got := door.ask(t, tc.req); got.Allowed != tc.allowed {
				t.Errorf("allowed %v: %v", got.Allowed, got.Result)
			} else if !got.Allowed && (got.Result.Code < 400 || got.Result.Message == "" || len(got.Result.Message) > 1024) {
				t.Errorf("a denial without a message, or with a too long one: %v", got.Result)
			}
		})
	}
}

// invalidUTF8 replaces bytes of the encoded object, because encoders don't write invalid UTF-8.
func invalidUTF8(t *testing.T, key, value string) *admissionv1.AdmissionRequest {
	t.Helper()
	req := request(t, nil, channel(func(svc *corev1.Service) { svc.Annotations[key] = "HERE" }))
	req.Object.Raw = bytes.Replace(req.Object.Raw, []byte("HERE"), []byte(value), 1)
	return req
}

func TestPanicFailsOnlyItsRequest(t *testing.T) {
	var logs bytes.Buffer
	h := &handler{log: newLog(zapcore.InfoLevel, &logs), metrics: newMetrics(prometheus.NewRegistry())}
	w := httptest.NewRecorder()
	h.recovering(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("lost") })).
		ServeHTTP(w, httptest.NewRequest(http.MethodPost, Path, nil))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "lost") {
		t.Errorf("code %d, body %q", w.Code, w.Body)
	}
	if log := logs.String(); !strings.Contains(log, `"panic":"lost"`) || !strings.Contains(log, `"stack":`) {
		t.Errorf("the log is %q", log)
	}
	if got := testutil.ToFloat64(h.metrics.failures.WithLabelValues("500")); got != 1 {
		t.Errorf("%v failures counted", got)
	}
}

func TestOnlyDenialsAreLogged(t *testing.T) {
	door := newDoor(t, zapcore.InfoLevel)
	door.ask(t, request(t, nil, channel(nil)))
	door.ask(t, request(t, annotated("disabled", "yes"), annotated("disabled", "yes")))
	if door.logs.Len() > 0 {
		t.Errorf("allowed requests are logged: %s", door.logs)
	}
	req := request(t, nil, annotated("external-ports", "http:hunter2"))
	dryRun := true
	req.DryRun = &dryRun
	door.ask(t, req)

	got := map[string]any{}
	if err := json.Unmarshal(door.logs.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, door.logs)
	}
	delete(got, "time")
	want := map[string]any{
		"level": "info", "msg": "denied", "operation": "CREATE", "kind": "channel", "namespace": "team-a", "name": "web",
		"user": "ada", "reasons": []any{"InvalidPortMapping"}, "dryRun": true, "uid": "0af3", "from": "192.0.2.1:1234",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMetrics(t *testing.T) {
	door := newDoor(t, zapcore.ErrorLevel)
	bad := annotated("external-ports", "http:0,grpc:0")
	bad.Spec.LoadBalancerSourceRanges = []string{"everyone"}
	door.ask(t, request(t, nil, channel(nil)))
	door.ask(t, request(t, nil, bad))
	door.ask(t, request(t, bad, bad))
	odd := request(t, nil, channel(nil))
	odd.Operation = "SCRIBBLE"
	door.ask(t, odd)
	door.post(strings.NewReader(""))

	want := `
# HELP svc_lb_mux_admission_denials_total Reviews denied, by reason; one with several reasons counts once for each.
# TYPE svc_lb_mux_admission_denials_total counter
svc_lb_mux_admission_denials_total{reason="InvalidPortMapping"} 1
svc_lb_mux_admission_denials_total{reason="InvalidSourceRanges"} 1
# HELP svc_lb_mux_admission_failed_requests_total Requests without an answer: not a review, too slow, ` +
		`or incomplete (4xx); reviews that failed (500); ` +
		`reviews refused because those in progress used all memory set aside for them (503).
# TYPE svc_lb_mux_admission_failed_requests_total counter
svc_lb_mux_admission_failed_requests_total{code="400"} 1
# HELP svc_lb_mux_admission_reviews_total Reviews answered, by operation, ` +
		`by kind of Service (mux, channel, both, stranger, or unread if the Service wasn't needed or can't be decoded) ` +
		`and by decision (allowed, warned, denied).
# TYPE svc_lb_mux_admission_reviews_total counter
svc_lb_mux_admission_reviews_total{decision="allowed",kind="channel",operation="CREATE"} 1
svc_lb_mux_admission_reviews_total{decision="allowed",kind="unread",operation="other"} 1
svc_lb_mux_admission_reviews_total{decision="denied",kind="channel",operation="CREATE"} 1
svc_lb_mux_admission_reviews_total{decision="warned",kind="channel",operation="UPDATE"} 1
`
	err := testutil.GatherAndCompare(door.registry, strings.NewReader(want), "svc_lb_mux_admission_denials_total",
		"svc_lb_mux_admission_failed_requests_total", "svc_lb_mux_admission_reviews_total")
	if err != nil {
		t.Error(err)
	}
}
