package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// requests makes random requests.
type requests struct{ *rand.Rand }

func pick[T any](r *requests, from ...T) T { return from[r.IntN(len(from))] }

func (r *requests) next() request {
	kind := pick(r, "service", "service", "service", "configmap", "slice")
	if r.IntN(10) == 0 {
		return r.lists()
	}
	q := request{place: pick(r, "", "", "", "", "", "", "-b"), verb: pick(r, "create", "create", "create", "create",
		"update", "update", "update/status", "patch", "patch", "patch/status", "patch/status", "delete"),
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
	q.what = fmt.Sprintf("%s %T %s%s version=%q uid=%q %s %s %s", q.verb, q.object, q.object.GetName(), q.place, q.version,
		q.uid, q.how, patch, object)
	return q
}

func (r *requests) meta() metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Name: pick(r, "a", "a", "a", "a", "b", "b", "b", "b", "c-d", "c-d", "c", "Bad_Name"),
		Labels: map[string]string{}}
	if watched := pick(r, "yes", "yes", "yes", "no", ""); watched != "" {
		meta.Labels["watched"] = watched
	}
	if r.IntN(2) == 0 {
		meta.Annotations = map[string]string{"example.com/" + pick(r, "x", "y"): r.mark()}
	}
	if r.IntN(6) == 0 {
		meta.Finalizers = []string{pick(r, "example.com/a", "example.com/b")}
	}
	return meta
}

// mark returns a random value of the annotations that admission checks.
func (r *requests) mark() string {
	return pick(r, "1", "1", "1", "2", "2", "2", refused, frozen, frozen, kept, mute)
}

func (r *requests) data() map[string]string {
	return map[string]string{pick(r, "k", "l", "bad key"): pick(r, "", "v", "w")}
}

func (r *requests) service() *corev1.Service {
	svc := &corev1.Service{ObjectMeta: r.meta()}
	svc.Spec.Type = pick(r, "", corev1.ServiceTypeClusterIP, corev1.ServiceTypeLoadBalancer,
		corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort)
	if svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
		svc.Spec.LoadBalancerClass = pick(r, nil, ptr.To("example.com/a"), ptr.To("example.com/b"), ptr.To("a/b/c"))
		svc.Spec.AllocateLoadBalancerNodePorts = pick(r, nil, nil, ptr.To(false))
	}
	svc.Spec.Ports = r.ports()
	if svc.Spec.Type == corev1.ServiceTypeLoadBalancer || svc.Spec.Type == corev1.ServiceTypeNodePort {
		r.nodePorts(svc.Spec.Ports)
	}
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

// nodePorts asks for particular node ports at random.
func (r *requests) nodePorts(ports []corev1.ServicePort) {
	for i := range ports {
		if r.IntN(6) == 0 {
			ports[i].NodePort = pick[int32](r, 30001, 30002, 30002, 30003, 20000)
		}
	}
}

func (r *requests) ingress() []corev1.LoadBalancerIngress {
	mode := ptr.To(corev1.LoadBalancerIPModeProxy)
	return slices.Clone(pick(r, nil, []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}},
		[]corev1.LoadBalancerIngress{{IP: "192.0.2.1", IPMode: mode}},
		[]corev1.LoadBalancerIngress{{Hostname: "a.example.com"}},
		[]corev1.LoadBalancerIngress{{Hostname: "a.example.com", IPMode: mode}}))
}

func (r *requests) slice() *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{ObjectMeta: r.meta(),
		AddressType: pick(r, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv4, "")}
	for i := range r.IntN(3) {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.0.0.%d", i+1)},
			Conditions: discoveryv1.EndpointConditions{Ready: pick(r, nil, ptr.To(true), ptr.To(false))}})
	}
	for range r.IntN(3) {
		slice.Ports = append(slice.Ports,
			discoveryv1.EndpointPort{Name: pick(r, nil, ptr.To("a"), ptr.To("b"), ptr.To("c")), Port: ptr.To(int32(80))})
	}
	return slice
}

// patch returns a patch of the kinds that we send: whole lists in a merge patch, conditions by type in a strategic one.
func (r *requests) patch(of client.Object, status bool, how types.PatchType) map[string]any {
	patch := map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		"example.com/" + pick(r, "x", "y"): pick[any](r, r.mark(), r.mark(), nil),
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
		body["loadBalancer"] = pick[any](r, map[string]any{"ingress": nil},
			map[string]any{"ingress": o.Status.LoadBalancer.Ingress})
	}
	if how == types.StrategicMergePatchType && !equality.Semantic.DeepEqual(body, map[string]any{}) || r.IntN(2) == 0 {
		kind := "example.com/" + pick(r, "A", "B")
		body["conditions"] = pick(r,
			[]any{map[string]any{"type": kind, "status": pick(r, "True", "False"), "reason": "R", "message": "",
				"lastTransitionTime": "2026-01-02T03:04:05Z"}}, []any{map[string]any{"$patch": "delete", "type": kind}})
		if how == types.MergePatchType {
			delete(body, "conditions")
		}
	}
	patch["status"] = body
}
