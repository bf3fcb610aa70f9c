package webhook

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// aRoute is the kind of a route in metrics and logs.
const aRoute = "route"

// isRouteChange says that the request creates or updates a TCPRoute or a UDPRoute.
func isRouteChange(req *admissionv1.AdmissionRequest) bool {
	return (req.Operation == admissionv1.Create || req.Operation == admissionv1.Update) && req.SubResource == "" &&
		req.Kind.Group == gatewayv1.GroupName && (req.Kind.Kind == read.TCPRoute || req.Kind.Kind == read.UDPRoute)
}

// reviewRoute judges a route that asks for a number. As for Services, problems that the old route has, too, don't block
// a change.
func reviewRoute(lang validation.Language, predictor *predictor, served served,
	req *admissionv1.AdmissionRequest) Answer {
	answer := allow(req, aRoute)
	route, err := decodeRoute(req.Kind.Kind, req.Object)
	if err != nil {
		return unreadable(req, "object", err)
	}
	if answer.Name == "" {
		answer.Name = route.Object.GetName()
	}
	if route.Object.GetDeletionTimestamp() != nil || !route.AsksForNumber(lang) {
		return answer
	}
	channel, asks := route.Channel(lang)
	verdict := validation.Verdict{Denied: channel.Problems}
	var before *plan.ObservedChannel
	if req.Operation == admissionv1.Update {
		old, err := decodeRoute(req.Kind.Kind, req.OldObject)
		if err != nil {
			return unreadable(req, "oldObject", err)
		}
		if old.AsksForNumber(lang) {
			was, _ := old.Channel(lang)
			before, verdict = &was, validation.Ratchet(was.Problems, channel.Problems)
		}
	}
	var predicted predicted
	if len(verdict.Denied) == 0 {
		predicted = predictor.messages(predictor.predictRoute(before, channel))
		predicted.warnings = append(served.routeWarnings(asks.Gateway), predicted.warnings...)
	}
	if denied := append(verdict.Denied, predicted.denied...); len(denied) > 0 {
		answer.Response.Allowed = false
		answer.Response.Result = denial(req, answer.Name, denied)
		answer.Reasons = reasons(denied)
	}
	answer.Response.Warnings = warnings(verdict, predicted.warnings...)
	return answer
}

// decodeRoute reads a route of version v1.
func decodeRoute(kind string, object runtime.RawExtension) (read.Route, error) {
	if len(object.Raw) == 0 || string(object.Raw) == "null" {
		return read.Route{}, fmt.Errorf("is missing: expected a %s", kind)
	}
	decoded := read.NewRoute(kind)
	if err := json.Unmarshal(object.Raw, decoded); err != nil {
		return read.Route{}, fmt.Errorf("is not a %s: %w", kind, err)
	}
	route, _ := read.RouteOf(decoded)
	return route, nil
}
