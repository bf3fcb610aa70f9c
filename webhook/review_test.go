package webhook

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"nowake.ai/svc-lb-mux/validation"
)

const mapping = "metadata.annotations[svc-mux.nowake.ai/external-ports]"

func TestDenialListsAllProblems(t *testing.T) {
	bad := annotated("external-ports", "grcp:8080,http:99999")
	bad.Spec.Ports[1].Name = ""
	got := Review(testLanguage(t), request(t, nil, bad)).Response
	wrongName := `port "grcp" is not one of this Service's ports (http): use one of these names, or remove the entry`
	wrongNumber := `port "http" wants "99999", which is neither a number from 1 to 65535 in plain digits, ` +
		`nor a range such as 10000-10099, nor auto`
	noName := `port 9090/TCP has no name: give it one, such as name: http`
	want := &admissionv1.AdmissionResponse{UID: "0af3", Result: &metav1.Status{
		Status: "Failure", Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: "Service team-a/web has 3 problems:" +
			"\n* " + mapping + ": " + wrongName +
			"\n* " + mapping + ": " + wrongNumber +
			"\n* spec.ports[1].name: " + noName,
		Details: &metav1.StatusDetails{Kind: "Service", Name: "web", Causes: []metav1.StatusCause{
			{Type: "InvalidPortMapping", Field: mapping, Message: wrongName},
			{Type: "InvalidPortMapping", Field: mapping, Message: wrongNumber},
			{Type: "InvalidPort", Field: "spec.ports[1].name", Message: noName},
		}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReview(t *testing.T) {
	bad := annotated("external-ports", "http:0")
	worse := annotated("external-ports", "http:0,grpc:0")
	odd := channel(func(svc *corev1.Service) { svc.Spec.SessionAffinity = corev1.ServiceAffinityClientIP })
	type outcome struct {
		Decision Decision
		Code     int32
		Reason   metav1.StatusReason
		Kind     string
		Reasons  []string
		Warnings int
	}
	denied := outcome{Denied, 422, metav1.StatusReasonInvalid, "channel", []string{"InvalidPortMapping"}, 0}
	unreadable := outcome{Denied, 400, metav1.StatusReasonBadRequest, notRead, []string{reasonUnreadable}, 0}
	tests := map[string]struct {
		old, new *corev1.Service
		edit     func(*admissionv1.AdmissionRequest)
		want     outcome
	}{
		"a valid channel is allowed": {new: channel(nil), want: outcome{Decision: Allowed, Kind: "channel"}},
		"any stranger is allowed": {
			new:  &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}, {Port: 2}}}},
			want: outcome{Decision: Allowed, Kind: "stranger"},
		},
		"a bad new channel is denied as invalid": {new: bad, want: denied},
		"a suspicious channel causes a warning": {
			new: odd, want: outcome{Decision: Warned, Kind: "channel", Warnings: 1},
		},
		"a change to a bad channel is denied as forbidden, so that --force doesn't delete it": {
			old: channel(nil), new: bad,
			want: outcome{Denied, 403, metav1.StatusReasonForbidden, "channel", []string{"InvalidPortMapping"}, 0},
		},
		"a problem from before is a warning": {
			old: bad, new: bad, want: outcome{Decision: Warned, Kind: "channel", Warnings: 1},
		},
		"a new problem is denied, and an old one beside it is a warning": {
			old: bad, new: worse,
			want: outcome{Denied, 403, metav1.StatusReasonForbidden, "channel", []string{"InvalidPortMapping"}, 1},
		},
		"the old object isn't read if the new one is valid": {
			old: channel(nil), new: channel(nil),
			edit: func(r *admissionv1.AdmissionRequest) { r.OldObject.Raw = []byte(`"no Service"`) },
			want: outcome{Decision: Allowed, Kind: "channel"},
		},
		"a bad object is allowed while it is being deleted": {
			new: channel(func(svc *corev1.Service) {
				svc.Spec.Ports[0].Name = ""
				svc.DeletionTimestamp = &metav1.Time{}
				svc.DeletionTimestamp.Time = svc.DeletionTimestamp.AddDate(2020, 0, 0)
			}),
			want: outcome{Decision: Allowed, Kind: "channel"},
		},
		"a deletion is allowed unread": {
			new: bad,
			edit: func(r *admissionv1.AdmissionRequest) {
				r.Operation, r.OldObject, r.Object = admissionv1.Delete, r.Object, runtime.RawExtension{}
			},
			want: outcome{Decision: Allowed, Kind: notRead},
		},
		"a status write is allowed unread": {
			new: bad, edit: func(r *admissionv1.AdmissionRequest) { r.SubResource = "status" },
			want: outcome{Decision: Allowed, Kind: notRead},
		},
		"another resource is allowed unread": {
			new: bad, edit: func(r *admissionv1.AdmissionRequest) { r.Resource.Resource = "pods" },
			want: outcome{Decision: Allowed, Kind: notRead},
		},
		"another group's services are allowed unread": {
			new: bad, edit: func(r *admissionv1.AdmissionRequest) { r.Resource.Group, r.Kind.Group = "x.io", "x.io" },
			want: outcome{Decision: Allowed, Kind: notRead},
		},
		"another kind is allowed unread": {
			new: bad, edit: func(r *admissionv1.AdmissionRequest) { r.Kind.Kind = "Scale" },
			want: outcome{Decision: Allowed, Kind: notRead},
		},
		"a dry run gets the same answer": {
			new: bad, edit: func(r *admissionv1.AdmissionRequest) { yes := true; r.DryRun = &yes }, want: denied,
		},
		"a request without an object fails": {
			new: bad, edit: func(r *admissionv1.AdmissionRequest) { r.Object.Raw = nil }, want: unreadable,
		},
		"null isn't an object": {
			new: bad, edit: func(r *admissionv1.AdmissionRequest) { r.Object.Raw = []byte("null") }, want: unreadable,
		},
		"a list isn't an object": {
			new: bad, edit: func(r *admissionv1.AdmissionRequest) { r.Object.Raw = []byte("[]") }, want: unreadable,
		},
		"an update of a bad object without the old object fails": {
			old: bad, new: bad, edit: func(r *admissionv1.AdmissionRequest) { r.OldObject.Raw = nil }, want: unreadable,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			req := request(t, tc.old, tc.new)
			if tc.edit != nil {
				tc.edit(req)
			}
			answer := Review(testLanguage(t), req)
			got := outcome{
				Decision: answer.Decision(), Kind: answer.Kind, Reasons: answer.Reasons,
				Warnings: len(answer.Response.Warnings),
			}
			if status := answer.Response.Result; status != nil {
				got.Code, got.Reason = status.Code, status.Reason
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if answer.Response.Allowed != (answer.Response.Result == nil) {
				t.Errorf("allowed %v with status %v", answer.Response.Allowed, answer.Response.Result)
			}
		})
	}
}

func TestOneProblemIsOneLine(t *testing.T) {
	answer := Review(testLanguage(t), request(t, nil, annotated("external-ports", "grcp:1")))
	want := "Service team-a/web: " + mapping + ": port \"grcp\" is not one of this Service's ports (http, grpc): " +
		`did you mean grpc?`
	if got := answer.Response.Result.Message; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestGeneratedNameIsReported(t *testing.T) {
	req := request(t, nil, annotated("external-ports", "grcp:1"))
	req.Name = ""
	if got := Review(testLanguage(t), req); got.Name != "web" || got.Response.Result.Details.Name != "web" {
		t.Errorf("names are %q and %q", got.Name, got.Response.Result.Details.Name)
	}
}

func TestGenerateNameIsReportedBeforeTheNameExists(t *testing.T) {
	bad := annotated("external-ports", "grcp:1")
	bad.Name, bad.GenerateName = "", "web-"
	got := Review(testLanguage(t), request(t, nil, bad))
	if status := got.Response.Result; got.Name != "web-*" || status.Details.Name != "web-*" ||
		!strings.HasPrefix(status.Message, "Service team-a/web-*: ") {
		t.Errorf("name %q, status %v", got.Name, status)
	}
}

func TestSentenceDropsOnlyTheFieldsName(t *testing.T) {
	tests := map[string]struct {
		field, message, want string
	}{
		"an annotation's name": {"metadata.annotations[x.io/disabled]", "disabled: is empty", "is empty"},
		"a path":               {"spec.type", "spec.type: a mux is one", "a mux is one"},
		"no field name": {"spec.ports[1].name", "port 80 has no name: give it one", "port 80 has no name: give it " +
			"one"},
		"another annotation": {"metadata.annotations[x.io/not-disabled]", "disabled: is empty", "disabled: is empty"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := sentence(validation.Problem{Field: tc.field, Message: tc.message}); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
