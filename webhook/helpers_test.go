package webhook

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap/zapcore"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"nowake.ai/svc-lb-mux/validation"
)

func testLanguage(t testing.TB) validation.Language {
	t.Helper()
	lang, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	return lang
}

// channel returns a valid channel, changed by edit.
func channel(edit func(*corev1.Service)) *corev1.Service {
	class, nodePorts := validation.DefaultPrefix+"/mux", false
	svc := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "web", Annotations: map[string]string{}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class, AllocateLoadBalancerNodePorts: &nodePorts,
			Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "grpc", Port: 9090}},
		},
	}
	if edit != nil {
		edit(svc)
	}
	return svc
}

// annotated returns a channel with one annotation of ours.
func annotated(name, value string) *corev1.Service {
	return channel(func(svc *corev1.Service) { svc.Annotations[validation.DefaultPrefix+"/"+name] = value })
}

// request returns a review request as an API server sends it. Without old it is a create.
func request(t testing.TB, old, svc *corev1.Service) *admissionv1.AdmissionRequest {
	t.Helper()
	req := &admissionv1.AdmissionRequest{
		UID: "0af3", Operation: admissionv1.Create,
		Kind:      metav1.GroupVersionKind{Version: "v1", Kind: "Service"},
		Resource:  metav1.GroupVersionResource{Version: "v1", Resource: "services"},
		Namespace: svc.Namespace, Name: svc.Name, Object: raw(t, svc),
	}
	req.UserInfo.Username = "ada"
	if old != nil {
		req.Operation, req.OldObject = admissionv1.Update, raw(t, old)
	}
	return req
}

func raw(t testing.TB, object any) runtime.RawExtension {
	t.Helper()
	return runtime.RawExtension{Raw: marshal(t, object)}
}

func marshal(t testing.TB, object any) []byte {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func body(t testing.TB, req *admissionv1.AdmissionRequest) []byte {
	t.Helper()
	review := admissionv1.AdmissionReview{Request: req}
	review.APIVersion, review.Kind = apiVersion, kind
	return marshal(t, review)
}

// door is a handler with its log and metrics.
type door struct {
	http.Handler
	logs     *bytes.Buffer
	registry *prometheus.Registry
}

func newDoor(t testing.TB, level zapcore.Level) door {
	t.Helper()
	d := door{logs: &bytes.Buffer{}, registry: prometheus.NewRegistry()}
	d.Handler = NewHandler(testLanguage(t), newLog(level, d.logs), d.registry)
	return d
}

func (d door) post(body io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, Path, body)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

// ask posts a review, and reads the answer, which an API server must accept.
func (d door) ask(t testing.TB, req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	t.Helper()
	return answered(t, d.post(bytes.NewReader(body(t, req))), req)
}

func answered(t testing.TB, w *httptest.ResponseRecorder,
	req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	t.Helper()
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &review); err != nil || w.Code != http.StatusOK {
		t.Fatalf("code %d, error %v, body %q", w.Code, err, w.Body)
	}
	if review.APIVersion != apiVersion || review.Kind != kind || review.Response == nil || review.Response.UID != req.UID {
		t.Fatalf("no answer to %s: %s", req.UID, w.Body)
	}
	return review.Response
}
