package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// routeText returns a TCPRoute with annotations. Their keys are given without our prefix.
func routeText(t *testing.T, annotations map[string]string, parent string) []byte {
	t.Helper()
	notes := map[string]string{}
	for key, value := range annotations {
		notes["svc-mux.nowake.ai/"+key] = value
	}
	text, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"name": "broker", "namespace": "shop", "annotations": notes},
		"spec":     map[string]any{"parentRefs": []any{map[string]any{"kind": parent, "name": "broker"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRoutes(t *testing.T) {
	asks := func(edit ...string) map[string]string {
		annotations := map[string]string{"gateway": "infra/edge", "external-ports": "auto"}
		for i := 0; i < len(edit); i += 2 {
			annotations[edit[i]] = edit[i+1]
		}
		return annotations
	}
	for name, c := range map[string]struct {
		old, new map[string]string
		parent   string
		code     int32
		says     []string
		warns    int
	}{
		"a good route":             {new: asks(), parent: "ListenerSet"},
		"a route that doesn't ask": {new: map[string]string{"external-ports": "http:80"}, parent: "Gateway"},
		"a Gateway without a namespace": {new: asks("gateway", "edge"), parent: "ListenerSet", code: 422,
			says: []string{`TCPRoute shop/broker: `, `"edge" names no Gateway`}},
		"a port of a channel": {new: asks("external-ports", "tcp:80"), parent: "ListenerSet", code: 422,
			says: []string{`"tcp:80" is neither auto nor a number`}},
		"a protocol": {new: asks("external-ports", "53/UDP"), parent: "ListenerSet", code: 422,
			says: []string{`"53/UDP" is neither`}},
		"two mistakes": {new: asks("external-ports", "0", "disabled", "no"), parent: "ListenerSet",
			code: 422, says: []string{"has 2 problems", `"0"`, `"no"`}},
		"no ListenerSet": {new: asks(), parent: "Gateway", code: 422, says: []string{"add {kind: " +
			"ListenerSet"}},
		"a good one becomes bad": {old: asks(), new: asks("external-ports", "x"), parent: "ListenerSet",
			code: 403, says: []string{`"x"`}},
		"a bad one stays bad": {old: asks("external-ports", "x"),
			new: asks("external-ports", "x", "team", "shop"), parent: "ListenerSet", warns: 1},
		"a bad one that didn't ask before": {old: map[string]string{"external-ports": "x"},
			new: asks("external-ports", "x"), parent: "ListenerSet", code: 403, says: []string{`"x"`}},
		"a Gateway that another release serves": {new: asks("gateway", "other/edge"), parent: "ListenerSet", warns: 1},
	} {
		t.Run(name, func(t *testing.T) {
			req := &admissionv1.AdmissionRequest{
				UID: "1", Operation: admissionv1.Create, Namespace: "shop", Name: "broker",
				Kind:   metav1.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "TCPRoute"},
				Object: runtime.RawExtension{Raw: routeText(t, c.new, c.parent)},
			}
			if c.old != nil {
				req.Operation, req.OldObject.Raw = admissionv1.Update, routeText(t, c.old, c.parent)
			}
			answer := review(testLanguage(t), nil, served{"infra"}, req)
			if answer.Kind != aRoute || answer.Response.Allowed != (c.code == 0) {
				t.Fatalf("the answer is %+v, %+v", answer, answer.Response.Result)
			}
			if len(answer.Response.Warnings) != c.warns {
				t.Errorf("it warns of %q", answer.Response.Warnings)
			}
			if text := strings.Join(answer.Response.Warnings, "; "); strings.Contains(text, "Service") {
				t.Errorf("a route isn't a Service: %q", text)
			}
			if c.code != 0 {
				if answer.Response.Result.Code != c.code || answer.Response.Result.Details.Kind != "TCPRoute" ||
					len(answer.Reasons) == 0 {
					t.Errorf("the answer is %+v", answer.Response.Result)
				}
				for _, word := range c.says {
					if !strings.Contains(answer.Response.Result.Message, word) {
						t.Errorf("it doesn't say %q: %s", word, answer.Response.Result.Message)
					}
				}
			}
		})
	}
}

func TestRoutesThatCannotBeRead(t *testing.T) {
	for _, kind := range []string{"TCPRoute", "UDPRoute"} {
		for _, object := range []string{"", "null", `{"spec": 5}`, fmt.Sprintf("%q", "text")} {
			req := &admissionv1.AdmissionRequest{
				UID: "1", Operation: admissionv1.Create,
				Kind:   metav1.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: kind},
				Object: runtime.RawExtension{Raw: []byte(object)},
			}
			answer := Review(testLanguage(t), req)
			if answer.Response.Allowed || answer.Response.Result.Code != http.StatusBadRequest ||
				!slices.Equal(answer.Reasons, []string{reasonUnreadable}) {
				t.Errorf("%s %q: %+v", kind, object, answer.Response)
			}
		}
	}
}
