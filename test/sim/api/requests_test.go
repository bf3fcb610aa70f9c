package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/test/sim/api"
)

func selector() labels.Selector { return labels.SelectorFromSet(labels.Set{"watched": "yes"}) }

func lists() map[api.Kind]client.ObjectList {
	return map[api.Kind]client.ObjectList{
		api.Services: &corev1.ServiceList{}, api.ConfigMaps: &corev1.ConfigMapList{}, api.EndpointSlices: &discoveryv1.EndpointSliceList{},
	}
}

// request is one that can be put to either server: a resource version is said in words, and looked up on each side.
type request struct {
	what    string
	verb    string
	object  client.Object
	patch   map[string]any
	how     types.PatchType
	version string // "now", "old" or none
	uid     string // "own", "other" or none
}

// answer is what both must agree on.
type answer struct {
	reason  string
	object  string
	changed bool
}

// side is one server, and what was seen there.
type side struct {
	client.Client
	t         *testing.T
	namespace string
	seen      map[string][]string // versions of each object
	uids      map[string]types.UID
	words     string
}

func newSide(t *testing.T, c client.Client, namespace string) *side {
	return &side{Client: c, t: t, namespace: namespace, seen: map[string][]string{}, uids: map[string]types.UID{}}
}

func (s *side) ask(r request) answer {
	obj := r.object.DeepCopyObject().(client.Object)
	obj.SetNamespace(s.namespace)
	name := fmt.Sprintf("%T %s", obj, obj.GetName())
	before := s.get(obj)
	err := s.put(r, obj, name)
	after := s.get(obj)
	s.words = fmt.Sprint(err)
	a := answer{reason: reason(err)}
	if after != nil {
		a.object = plain(after)
		s.uids[name] = after.GetUID()
		if versions := s.seen[name]; len(versions) == 0 || versions[len(versions)-1] != after.GetResourceVersion() {
			s.seen[name] = append(versions, after.GetResourceVersion())
		}
	}
	a.changed = (before == nil) != (after == nil) || before != nil && before.GetResourceVersion() != after.GetResourceVersion()
	return a
}

func (s *side) put(r request, obj client.Object, name string) error {
	version, uid := s.version(r.version, name), s.uid(r.uid, name)
	ctx := s.t.Context()
	switch r.verb {
	case "create":
		return s.Create(ctx, obj)
	case "update", "update/status":
		is := s.get(obj)
		if is == nil {
			obj.SetResourceVersion(version)
			return s.Update(ctx, obj)
		}
		obj = edited(is, obj)
		obj.SetResourceVersion(version)
		if r.verb == "update" {
			return s.Update(ctx, obj)
		}
		return s.Status().Update(ctx, obj)
	case "delete":
		var only client.Preconditions
		if version != "" {
			only.ResourceVersion = &version
		}
		if uid != "" {
			only.UID = &uid
		}
		return s.Delete(ctx, obj, only)
	}
	return s.change(ctx, r, obj, version, uid)
}

func (s *side) change(ctx context.Context, r request, obj client.Object, version string, uid types.UID) error {
	body := maps.Clone(r.patch)
	metadata := map[string]any{}
	if given, is := body["metadata"].(map[string]any); is {
		metadata = maps.Clone(given)
	}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	if uid != "" {
		metadata["uid"] = uid
	}
	body["metadata"] = metadata
	data, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	if r.verb == "patch/status" {
		return s.Status().Patch(ctx, obj, client.RawPatch(r.how, data))
	}
	return s.Patch(ctx, obj, client.RawPatch(r.how, data))
}

func (s *side) version(which, name string) string {
	versions := s.seen[name]
	switch {
	case which == "" || len(versions) == 0:
		return ""
	case which == "old":
		return versions[0]
	}
	return versions[len(versions)-1]
}

func (s *side) uid(which, name string) types.UID {
	switch which {
	case "own":
		return s.uids[name]
	case "other":
		return "11111111-2222-3333-4444-555555555555"
	}
	return ""
}

func (s *side) get(obj client.Object) client.Object {
	is := obj.DeepCopyObject().(client.Object)
	if err := s.Get(s.t.Context(), client.ObjectKeyFromObject(obj), is); err != nil {
		return nil
	}
	return is
}

// edited is an object as it is, with what an edit sets.
func edited(is, edit client.Object) client.Object {
	is.SetLabels(edit.GetLabels())
	is.SetAnnotations(edit.GetAnnotations())
	is.SetFinalizers(edit.GetFinalizers())
	switch e := edit.(type) {
	case *corev1.Service:
		svc := is.(*corev1.Service)
		svc.Spec.Ports, svc.Spec.Type, svc.Spec.Selector = e.Spec.Ports, e.Spec.Type, e.Spec.Selector
		svc.Status = e.Status
	case *corev1.ConfigMap:
		is.(*corev1.ConfigMap).Data = e.Data
	case *discoveryv1.EndpointSlice:
		slice := is.(*discoveryv1.EndpointSlice)
		slice.Endpoints, slice.Ports = e.Endpoints, e.Ports
	}
	return is
}

func reason(err error) string {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return ""
	case errors.As(err, &status):
		return string(status.Status().Reason)
	}
	return err.Error()
}

// plain is an object without what no two servers have in common. Node ports and addresses are told apart by when they
// first come up.
func plain(obj client.Object) string {
	obj = obj.DeepCopyObject().(client.Object)
	deleting := obj.GetDeletionTimestamp() != nil
	obj.SetUID("")
	obj.SetResourceVersion("")
	obj.SetCreationTimestamp(metav1.Time{})
	obj.SetManagedFields(nil)
	obj.SetNamespace("")
	if deleting {
		obj.SetDeletionTimestamp(&metav1.Time{})
	}
	obj.GetObjectKind().SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind().GroupVersion().WithKind(""))
	switch o := obj.(type) {
	case *corev1.Service:
		o.TypeMeta = metav1.TypeMeta{}
		plainService(o)
	case *corev1.ConfigMap:
		o.TypeMeta = metav1.TypeMeta{}
	case *discoveryv1.EndpointSlice:
		o.TypeMeta = metav1.TypeMeta{}
		if len(o.Endpoints) == 0 {
			o.Endpoints = nil // none, or none
		}
	}
	text, err := json.Marshal(obj)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s deleting=%t", text, deleting)
}

func plainService(svc *corev1.Service) {
	if svc.Spec.ClusterIP != "" {
		svc.Spec.ClusterIP = "given"
	}
	for i := range svc.Spec.ClusterIPs {
		svc.Spec.ClusterIPs[i] = "given"
	}
	known := map[int32]int32{0: 0}
	for i := range svc.Spec.Ports {
		port := &svc.Spec.Ports[i]
		if _, is := known[port.NodePort]; !is {
			known[port.NodePort] = int32(len(known))
		}
		port.NodePort = known[port.NodePort]
	}
}

// requests makes random ones.
type requests struct{ *rand.Rand }

func pick[T any](r *requests, from ...T) T { return from[r.IntN(len(from))] }

func (r *requests) next() request {
	kind := pick(r, "service", "service", "service", "configmap", "slice")
	q := request{verb: pick(r, "create", "create", "update", "update/status", "patch", "patch", "patch/status", "patch/status", "delete"),
		version: pick(r, "", "", "now", "now", "old"), uid: pick(r, "", "", "", "own", "other")}
	if kind != "service" && (q.verb == "update/status" || q.verb == "patch/status") {
		q.verb = "patch"
	}
	switch kind {
	case "service":
		q.object = r.service()
	case "configmap":
		q.object = &corev1.ConfigMap{ObjectMeta: r.meta(), Data: r.data()}
	case "slice":
		q.object = r.slice()
	}
	if q.verb == "patch" || q.verb == "patch/status" {
		q.how = pick(r, types.MergePatchType, types.StrategicMergePatchType)
		q.patch = r.patch(q.object, q.verb == "patch/status", q.how)
	}
	object, _ := json.Marshal(q.object)
	patch, _ := json.Marshal(q.patch)
	if q.patch != nil {
		object = nil
	}
	q.what = fmt.Sprintf("%s %T %s version=%q uid=%q %s %s %s", q.verb, q.object, q.object.GetName(), q.version, q.uid, q.how, patch, object)
	return q
}

func (r *requests) meta() metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Name: pick(r, "a", "a", "a", "b", "b", "b", "c", "c", "c", "c", "c", "Bad_Name"), Labels: map[string]string{"watched": pick(r, "yes", "yes", "yes", "no")}}
	if r.IntN(2) == 0 {
		meta.Annotations = map[string]string{"example.com/" + pick(r, "x", "y"): pick(r, "1", "2")}
	}
	if r.IntN(6) == 0 {
		meta.Finalizers = []string{pick(r, "example.com/a", "example.com/b")}
	}
	return meta
}

func (r *requests) data() map[string]string {
	return map[string]string{pick(r, "k", "l", "bad key"): pick(r, "", "v", "w")}
}

func (r *requests) service() *corev1.Service {
	svc := &corev1.Service{ObjectMeta: r.meta()}
	svc.Spec.Type = pick(r, "", corev1.ServiceTypeClusterIP, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort)
	if svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
		svc.Spec.LoadBalancerClass = pick(r, nil, ptr.To("example.com/a"), ptr.To("example.com/b"), ptr.To("a/b/c"))
		svc.Spec.AllocateLoadBalancerNodePorts = pick(r, nil, nil, ptr.To(false))
	}
	svc.Spec.Ports = r.ports()
	svc.Spec.Selector = pick(r, nil, map[string]string{"app": "x"})
	svc.Status.LoadBalancer.Ingress = r.ingress()
	return svc
}

func (r *requests) ports() []corev1.ServicePort {
	var ports []corev1.ServicePort
	if r.IntN(6) > 0 {
		for i, name := range []string{"a", "b", "c"}[r.IntN(3):] {
			ports = append(ports, corev1.ServicePort{Name: name, Port: pick[int32](r, 53, 80) + int32(i),
				Protocol: pick(r, "", corev1.ProtocolTCP, corev1.ProtocolUDP)})
		}
		return ports
	}
	for range r.IntN(4) {
		ports = append(ports, corev1.ServicePort{
			Name: pick(r, "a", "b", "c", "d", "", "Bad"), Protocol: pick(r, "", corev1.ProtocolTCP, corev1.ProtocolUDP),
			Port: pick[int32](r, 53, 80, 443, 8080, 8080, 70000),
		})
	}
	return ports
}

func (r *requests) ingress() []corev1.LoadBalancerIngress {
	mode := ptr.To(corev1.LoadBalancerIPModeProxy)
	return slices.Clone(pick(r, nil, []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}, []corev1.LoadBalancerIngress{{IP: "192.0.2.1", IPMode: mode}},
		[]corev1.LoadBalancerIngress{{Hostname: "a.example.com"}}, []corev1.LoadBalancerIngress{{Hostname: "a.example.com", IPMode: mode}}))
}

func (r *requests) slice() *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{ObjectMeta: r.meta(), AddressType: pick(r, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv4, "")}
	for i := range r.IntN(3) {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.0.0.%d", i+1)},
			Conditions: discoveryv1.EndpointConditions{Ready: pick(r, nil, ptr.To(true), ptr.To(false))}})
	}
	for range r.IntN(3) {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: pick(r, nil, ptr.To("a"), ptr.To("b"), ptr.To("c")), Port: ptr.To(int32(80))})
	}
	return slice
}

// patch is of the sort that we send: whole lists in a merge patch, conditions by type in a strategic one.
func (r *requests) patch(of client.Object, status bool, how types.PatchType) map[string]any {
	patch := map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		"example.com/" + pick(r, "x", "y"): pick[any](r, "1", "2", nil),
	}}}
	if r.IntN(5) == 0 {
		patch["metadata"].(map[string]any)["finalizers"] = pick[any](r, []string{}, []string{"example.com/a"}, nil)
		if how == types.StrategicMergePatchType {
			delete(patch["metadata"].(map[string]any), "finalizers")
			patch["metadata"].(map[string]any)["$deleteFromPrimitiveList/finalizers"] = []string{"example.com/a"}
		}
	}
	switch o := of.(type) {
	case *corev1.Service:
		r.patchService(patch, o, status, how)
	case *corev1.ConfigMap:
		patch["data"] = map[string]any{"k": pick[any](r, "x", nil)}
		patch["binaryData"] = map[string]any{"k": pick[any](r, nil, nil, "AA==")}
	case *discoveryv1.EndpointSlice:
		if r.IntN(2) == 0 {
			patch["endpoints"] = append([]discoveryv1.Endpoint{}, o.Endpoints...)
		}
		if r.IntN(2) == 0 {
			patch["ports"] = o.Ports
		}
	}
	return patch
}

func (r *requests) patchService(patch map[string]any, o *corev1.Service, status bool, how types.PatchType) {
	if !status || r.IntN(4) == 0 {
		if how == types.MergePatchType {
			patch["spec"] = map[string]any{"ports": o.Spec.Ports}
		}
		return
	}
	body := map[string]any{}
	if r.IntN(2) == 0 {
		body["loadBalancer"] = pick[any](r, map[string]any{"ingress": nil}, map[string]any{"ingress": o.Status.LoadBalancer.Ingress})
	}
	if how == types.StrategicMergePatchType && !equality.Semantic.DeepEqual(body, map[string]any{}) || r.IntN(2) == 0 {
		kind := "example.com/" + pick(r, "A", "B")
		body["conditions"] = pick(r, []any{map[string]any{"type": kind, "status": pick(r, "True", "False"), "reason": "R", "message": "",
			"lastTransitionTime": "2026-01-02T03:04:05Z"}}, []any{map[string]any{"$patch": "delete", "type": kind}})
		if how == types.MergePatchType {
			delete(body, "conditions")
		}
	}
	patch["status"] = body
}
