package webhook

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap/zapcore"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// testMux returns the mux of the channels, with their ports.
func testMux(t testing.TB, annotations map[string]string, channels ...*corev1.Service) *corev1.Service {
	t.Helper()
	lang := testLanguage(t)
	svc := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "svc-mux", Name: "mux",
			Annotations: map[string]string{lang.Keys().Multiplexer: "true"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{
			{Name: "placeholder", Port: 101, Protocol: corev1.ProtocolTCP},
		}},
	}
	for name, value := range annotations {
		svc.Annotations[validation.DefaultPrefix+"/"+name] = value
	}
	w := plan.World{
		Keys: lang.Keys(), Key: keyOf(svc), Mux: plan.ReadMux(lang, svc, false),
		Ledger: plan.Reading{Condition: plan.Missing},
	}
	for _, channel := range channels {
		w.Channels = append(w.Channels, plan.ReadChannel(lang, channel))
	}
	if p := plan.Mux(w, plan.Memory{}); p.Publish != nil && p.Publish.Ports != nil {
		svc.Spec.Ports = p.Publish.Ports
	}
	return svc
}

// named returns a channel with one port or more.
func named(namespace, name string, port int32, more ...int32) *corev1.Service {
	return channel(func(svc *corev1.Service) {
		svc.Namespace, svc.Name = namespace, name
		svc.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: port, Protocol: corev1.ProtocolTCP}}
		for i, number := range more {
			svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{
				Name: fmt.Sprintf("more-%d", i), Port: number, Protocol: corev1.ProtocolTCP,
			})
		}
	})
}

// disabled disables a channel.
func disabled(svc *corev1.Service) *corev1.Service {
	svc.Annotations[validation.DefaultPrefix+"/disabled"] = "true"
	return svc
}

// seer is a predictor that knows some Services, with its log and metrics.
type seer struct {
	*predictor
	logs     *bytes.Buffer
	registry *prometheus.Registry
}

func newSeer(t testing.TB, services ...*corev1.Service) seer {
	t.Helper()
	s := seer{logs: &bytes.Buffer{}, registry: prometheus.NewRegistry()}
	book := newTestBook(t)
	s.predictor = &predictor{
		lang: testLanguage(t), index: book, ready: func() bool { return true }, log: newLog(zapcore.InfoLevel, s.logs),
		metrics: newPredictionMetrics(s.registry), slots: make(chan struct{}, maxConcurrent), timeout: time.Minute,
	}
	list := make([]any, len(services))
	for i, svc := range services {
		list[i] = svc.DeepCopy()
	}
	if err := book.store(func() {}).Replace(list, ""); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s seer) review(t testing.TB, req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	t.Helper()
	return review(testLanguage(t), s.predictor, nil, req).Response
}

func deletionOf(t testing.TB, svc *corev1.Service) *admissionv1.AdmissionRequest {
	t.Helper()
	req := request(t, svc, svc)
	req.Operation, req.Object = admissionv1.Delete, runtime.RawExtension{}
	return req
}

const conflict = `port "http" asks for 8080/TCP, ` +
	`and team-b/api (port "http") has it: ask for another number such as 8081`

func TestPredictions(t *testing.T) {
	api := named("team-b", "api", 8080)
	mux := testMux(t, nil, api)
	change := func(svc *corev1.Service, edit func(*corev1.Service)) *corev1.Service {
		other := svc.DeepCopy()
		edit(other)
		return other
	}
	class := func(to string) func(*corev1.Service) {
		return func(svc *corev1.Service) { svc.Spec.LoadBalancerClass = &to }
	}
	label := func(svc *corev1.Service) { svc.Labels = map[string]string{"a": "b"} }
	goes := func(svc *corev1.Service) { svc.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)} }
	tests := map[string]struct {
		req  *admissionv1.AdmissionRequest
		want []string
	}{
		"a channel that gets what it asks for": {request(t, nil, named("team-a", "web", 80)), nil},
		"a number that another channel has": {
			request(t, nil, named("team-a", "web", 8080)), []string{"it will get no port: " + conflict},
		},
		"a label on a refused channel": {
			request(t, named("team-a", "web", 8080), change(named("team-a", "web", 8080), label)), nil,
		},
		"a change to a number that another channel has": {
			request(t, named("team-a", "web", 80), named("team-a", "web", 8080)), []string{"it will get no port: " + conflict},
		},
		"a channel that changes its mux counts as new": {
			request(t, change(named("team-a", "web", 8080), class("svc-mux.nowake.ai/other")), named("team-a", "web", 8080)),
			[]string{"it will get no port: " + conflict},
		},
		"a missing mux": {
			request(t, nil, change(named("team-a", "web", 80), class("svc-mux.nowake.ai/edge.infra"))),
			[]string{"it will get no port: there is no mux infra/edge: a Service by that name needs type LoadBalancer and " +
				"annotation svc-mux.nowake.ai/multiplexer: \"true\"; or create this Service again with the class of another mux"},
		},
		"a Service that isn't a mux": {
			request(t, nil, change(named("team-a", "web", 80), class("svc-mux.nowake.ai/api.team-b"))),
			[]string{"it will get no port: there is no mux team-b/api: a Service by that name needs type LoadBalancer and " +
				"annotation svc-mux.nowake.ai/multiplexer: \"true\"; or create this Service again with the class of another mux"},
		},
		"a mux with channels is deleted": {deletionOf(t, mux), []string{
			"with the mux svc-mux/mux, 1 channel (team-b/api) will lose address and ports; a mux made again by that name " +
				"gives them the same numbers",
		}},
		"a mux that is being deleted is deleted again": {deletionOf(t, change(mux, goes)), nil},
		"a channel is deleted":                         {deletionOf(t, api), nil},
		"a stranger is deleted":                        {deletionOf(t, change(api, class("example.com/x"))), nil},
		"a label on a mux":                             {request(t, mux, change(mux, label)), nil},
		"an update of a mux without the old object":    {request(t, nil, mux), nil},
		"a mux that loses its annotation": {
			request(t, mux, change(mux, func(svc *corev1.Service) { svc.Annotations = nil })),
			[]string{"svc-mux/mux is no mux from now on, and 1 channel (team-b/api) will lose address and ports; make it a " +
				"mux again, and they get the same numbers"},
		},
		"a mux that disallows a namespace": {
			request(t, mux, change(mux, func(svc *corev1.Service) {
				svc.Annotations[validation.DefaultPrefix+"/allowed-namespaces"] = "team-a"
			})),
			[]string{"shuts out 1 channel (team-b/api), which will lose address and ports: to keep them, allow their " +
				"namespaces beside team-a"},
		},
		"a mux that loses a channel's port": {
			request(t, mux, change(mux, func(svc *corev1.Service) {
				svc.Spec.Ports = []corev1.ServicePort{{Name: "placeholder", Port: 101, Protocol: corev1.ProtocolTCP}}
			})),
			[]string{"takes 1 port of 1 channel (team-b/api) off the mux until the reconciler puts them back: apply the mux " +
				"with its own ports alone, and don't replace it"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, strict := range []bool{false, true} {
				seer := newSeer(t, mux, api)
				seer.strict = strict
				got := seer.review(t, tc.req)
				if strict && len(got.Warnings) < len(tc.want) {
					continue // the request is denied: another test checks that
				}
				if diff := cmp.Diff(tc.want, got.Warnings); diff != "" || !got.Allowed {
					t.Errorf("allowed %v (-want +got):\n%s", got.Allowed, diff)
				}
				checkWarnings(t, got.Warnings)
			}
		})
	}
}
