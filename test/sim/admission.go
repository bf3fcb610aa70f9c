package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/webhook"

	"nowake.ai/svc-lb-mux/test/sim/api"
)

// Admitted is the first seed whose histories have our webhook. They also have crashes around each write, broken
// watches, and bookmarks.
const Admitted = 1_000_000_000

// admission is our webhook with the rules of the chart's configuration. It reviews Services that are or were muxes or
// channels, but no status writes, and no updates that leave spec and annotations unchanged. In a cluster the
// reconciler's writes aren't reviewed. Here they are reviewed, only to check that the webhook would allow them.
type admission struct {
	*Sim
	down   bool
	broken string // the broken promise, or empty
}

// begin enables admission once the muxes exist.
func (a *admission) begin() {
	if a.habits.reviews {
		a.server.Admit = a.review
	}
}

// outage starts or ends an outage of the webhook.
func (a *admission) outage() string {
	a.down = !a.down
	if a.down {
		a.point("no webhook answers")
		return "no webhook answers any more"
	}
	return "a webhook answers again"
}

func (a *admission) review(r *api.Review) error {
	if r.Kind != api.Services || r.Status || r.Verb == "delete" || !a.ours(r) || r.After.GetDeletionTimestamp() != nil ||
		idle(r) {
		return nil
	}
	byUs := a.server.By != ""
	if a.down && !byUs {
		a.point("webhook: nobody answers")
		return apierrors.NewInternalError(errors.New("failed calling webhook: no endpoints available for service"))
	}
	answer := webhook.Review(a.language, request(r))
	switch {
	case answer.Response.Allowed:
		a.understood(r)
		return nil
	case byUs:
		a.broken = fmt.Sprintf("admission: what %s writes to %s would be refused: %s", a.server.By, r.Key,
			answer.Response.Result.Message)
		return nil
	}
	a.point("webhook: denied")
	return &apierrors.StatusError{ErrStatus: *answer.Response.Result}
}

// understood checks that the reconciler finds no fault in a Service that the webhook allows. During an outage, no
// request is allowed.
func (a *admission) understood(r *api.Review) {
	svc := r.After.(*corev1.Service)
	kind := a.language.Classify(svc)
	if channel := plan.ReadChannel(a.language, svc); kind.Channel() && len(channel.Problems) > 0 {
		a.broken = fmt.Sprintf("admission: %s was let through, and the reconciler says: %v", r.Key, channel.Problems)
	}
	if mux := plan.ReadMux(a.language, svc, false); kind.Mux() && len(mux.Problems) > 0 {
		a.broken = fmt.Sprintf("admission: %s was let through, and the reconciler says: %v", r.Key, mux.Problems)
	}
}

func (a *admission) ours(r *api.Review) bool {
	for _, obj := range [...]client.Object{r.Before, r.After} {
		if svc, is := obj.(*corev1.Service); is && svc != nil {
			if kind := a.language.Classify(svc); kind.Mux() || kind.Channel() {
				return true
			}
		}
	}
	return false
}

// idle returns whether an update leaves everything unchanged that a rule could read.
func idle(r *api.Review) bool {
	before, was := r.Before.(*corev1.Service)
	after := r.After.(*corev1.Service)
	return was && equality.Semantic.DeepEqual(before.Spec, after.Spec) && maps.Equal(before.Annotations, after.Annotations)
}

// request returns the admission request that an API server would send.
func request(r *api.Review) *admissionv1.AdmissionRequest {
	req := &admissionv1.AdmissionRequest{
		UID: types.UID("review"), Namespace: r.Key.Namespace, Name: r.Key.Name, Operation: admissionv1.Update,
		Kind:     metav1.GroupVersionKind{Version: "v1", Kind: "Service"},
		Resource: metav1.GroupVersionResource{Version: "v1", Resource: "services"},
		Object:   raw(r.After), OldObject: raw(r.Before),
	}
	if r.Before == nil {
		req.Operation = admissionv1.Create
	}
	return req
}

func raw(obj client.Object) runtime.RawExtension {
	if obj == nil {
		return runtime.RawExtension{}
	}
	text, err := json.Marshal(obj)
	if err != nil {
		panic(err)
	}
	return runtime.RawExtension{Raw: text}
}
