package webhook

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"nowake.ai/svc-lb-mux/test/bench/figure"
	"nowake.ai/svc-lb-mux/validation"
	"nowake.ai/svc-lb-mux/webhook"
)

// BenchmarkReview compares the review of a valid channel with a handler that only decodes and allows.
func BenchmarkReview(b *testing.B) {
	handler := webhook.NewHandler(language(b), zap.NewNop(), prometheus.NewRegistry())
	for name, ports := range map[string]int{"channel": 1, "channel with 100 ports": 100} {
		review := review(b, channel(ports))
		ours, floor := func() { ask(b, handler, review) }, func() { ask(b, http.HandlerFunc(decodeAndAllow), review) }
		b.Run(name, func(b *testing.B) {
			var times figure.Pair
			for b.Loop() {
				times.Turn(20, floor, ours)
			}
			least, took := times.Medians()
			key := fmt.Sprintf("webhook/review-%d-ports", ports)
			figure.Against(os.Stdout, key, float64(took.Nanoseconds()), "ns", float64(least.Nanoseconds()), 1.3)
			figure.Against(os.Stdout, key+"-allocs", testing.AllocsPerRun(100, ours), "allocs",
				testing.AllocsPerRun(100, floor), 1.3)
		})
	}
}

// BenchmarkOwnWork measures a review of a channel with 100 ports after decoding. Measured together with decoding, its
// time would be lost in the noise.
func BenchmarkOwnWork(b *testing.B) {
	lang, svc := language(b), channel(100)
	started := time.Now()
	runs := 0
	for b.Loop() {
		if verdict := lang.Review(nil, svc); len(verdict.Denied) > 0 {
			b.Fatal(verdict)
		}
		runs++
	}
	each := time.Since(started) / time.Duration(runs)
	figure.AtMost(os.Stdout, "webhook/own-work-100-ports", float64(each.Nanoseconds())/1e3, "µs", 100)
}

func language(tb testing.TB) validation.Language {
	tb.Helper()
	lang, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		tb.Fatal(err)
	}
	return lang
}

// decodeAndAllow is the floor: it reads the body, decodes the review and the object, and allows the request.
func decodeAndAllow(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		panic(err)
	}
	if err := json.Unmarshal(review.Request.Object.Raw, &corev1.Service{}); err != nil {
		panic(err)
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	answer, err := json.Marshal(review)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(answer); err != nil {
		panic(err)
	}
}

// answer is a ResponseWriter with no cost.
type answer struct {
	header http.Header
	bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }
func (a *answer) WriteHeader(int)     {}

func ask(b *testing.B, handler http.Handler, review []byte) {
	r, err := http.NewRequest(http.MethodPost, webhook.Path, bytes.NewReader(review))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	w := &answer{header: http.Header{}}
	handler.ServeHTTP(w, r)
	if !strings.Contains(w.String(), `"allowed":true`) {
		b.Fatal(w.String())
	}
}

// channel returns a channel as kubectl sends it, which asks for a number for each port.
func channel(ports int) *corev1.Service {
	class, nodePorts := validation.DefaultPrefix+"/mux.infra", false
	svc := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: "web", UID: "8b1e8b8e-5f0e-4a5b-a0a4-9d7f6f5d2f11", CreationTimestamp: metav1.Now(),
			Labels: map[string]string{"app.kubernetes.io/name": "web", "app.kubernetes.io/managed-by": "Helm"},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class, AllocateLoadBalancerNodePorts: &nodePorts,
			Selector: map[string]string{"app.kubernetes.io/name": "web"}, ClusterIP: "10.96.12.34",
			ClusterIPs: []string{"10.96.12.34"}, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			SessionAffinity: corev1.ServiceAffinityNone,
		},
	}
	var requests []string
	for i := range ports {
		name := fmt.Sprintf("port-%d", i)
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: name, Port: int32(1000 + i), Protocol: "TCP"})
		requests = append(requests, fmt.Sprintf("%s:%d", name, 30000+i))
	}
	svc.Annotations = map[string]string{
		validation.DefaultPrefix + "/external-ports":        strings.Join(requests, ","),
		validation.DefaultPrefix + "/external-dns-hostname": "app.example.com",
		"meta.helm.sh/release-name":                         "web",
		"meta.helm.sh/release-namespace":                    "team-a",
	}
	svc.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "helm", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
		Time: &metav1.Time{Time: time.Now()}, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{".":{},` +
			`"f:meta.helm.sh/release-name":{},"f:meta.helm.sh/release-namespace":{}},"f:labels":{".":{},` +
			`"f:app.kubernetes.io/managed-by":{},"f:app.kubernetes.io/name":{}}},"f:spec":{` +
			`"f:allocateLoadBalancerNodePorts":{},"f:internalTrafficPolicy":{},"f:loadBalancerClass":{},"f:ports":{".":{},` +
			`"k:{\"port\":1000,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{},"f:targetPort":{}}},` +
			`"f:selector":{},"f:sessionAffinity":{},"f:type":{}}}`),
	}}
	return svc
}

func request(tb testing.TB, svc *corev1.Service) *admissionv1.AdmissionRequest {
	tb.Helper()
	object, err := json.Marshal(svc)
	if err != nil {
		tb.Fatal(err)
	}
	return &admissionv1.AdmissionRequest{
		UID: "705ab4f5-6393-11e8-b7cc-42010a800002", Operation: admissionv1.Create, Namespace: svc.Namespace, Name: svc.Name,
		Kind:     metav1.GroupVersionKind{Version: "v1", Kind: "Service"},
		Resource: metav1.GroupVersionResource{Version: "v1", Resource: "services"},
		UserInfo: authenticationv1.UserInfo{
			Username: "system:serviceaccount:argocd:argocd-application-controller",
			Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:argocd", "system:authenticated"},
		},
		Object: runtime.RawExtension{Raw: object},
		Options: runtime.RawExtension{
			Raw: []byte(`{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"helm"}`)},
	}
}

func review(tb testing.TB, svc *corev1.Service) []byte {
	tb.Helper()
	review := admissionv1.AdmissionReview{Request: request(tb, svc)}
	review.APIVersion, review.Kind = "admission.k8s.io/v1", "AdmissionReview"
	body, err := json.Marshal(review)
	if err != nil {
		tb.Fatal(err)
	}
	return body
}
