package status

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
)

const controller = "svc-mux.nowake.ai/gateway"

// manyRoutes is a Gateway with routes that have a ListenerSet each, as the allocator makes them. Half of the sets
// aren't admitted.
func manyRoutes(routes int) *read.Observed {
	selected := gatewayv1.NamespacesFromSelector
	o := &read.Observed{
		Gateway: &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "edge"},
			Spec: gatewayv1.GatewaySpec{
				AllowedListeners: &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: &selected,
					Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"edge": "yes"}}}},
			}},
		Mux:        types.NamespacedName{Namespace: "infra", Name: "gateway-edge"},
		Namespaces: map[string]labels.Set{"shop": {"edge": "yes"}, "bank": {"edge": "no"}},
		Services:   map[types.NamespacedName]*corev1.Service{},
	}
	for i := range routes {
		namespace, name := [...]string{"shop", "bank"}[i%2], fmt.Sprintf("broker-%d", i)
		o.Services[types.NamespacedName{Namespace: namespace, Name: name}] = &corev1.Service{
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 9092, Protocol: corev1.ProtocolTCP}}}}
		set := &gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
			UID: types.UID("set-" + name)}}
		set.Spec.ParentRef = gatewayv1.ParentGatewayReference{Name: "edge", Namespace: ptr.To(gatewayv1.Namespace("infra"))}
		set.Spec.Listeners = []gatewayv1.ListenerEntry{{Name: "tcp", Port: int32(10000 + i),
			Protocol: gatewayv1.TCPProtocolType}}
		o.Sets = append(o.Sets, set)
		route := &gatewayv1.TCPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}}
		route.Spec.ParentRefs = []gatewayv1.ParentReference{{Kind: ptr.To(gatewayv1.Kind("ListenerSet")),
			Name: gatewayv1.ObjectName(name)}}
		route.Spec.Rules = []gatewayv1.TCPRouteRule{{BackendRefs: []gatewayv1.BackendRef{{
			BackendObjectReference: gatewayv1.BackendObjectReference{Name: gatewayv1.ObjectName(name),
				Port: ptr.To(int32(9092))}}}}}
		is, _ := read.RouteOf(route)
		o.Routes = append(o.Routes, is)
	}
	return o
}

// BenchmarkWorstRoutes judges a Gateway with a ListenerSet for each route, and makes all statuses. The time for one
// route must not grow with the number of routes.
func BenchmarkWorstRoutes(b *testing.B) {
	for _, routes := range [...]int{500, 4000} {
		b.Run(fmt.Sprintf("routes=%d", routes), func(b *testing.B) {
			o := manyRoutes(routes)
			for b.Loop() {
				s := read.Judge(o)
				g := &Given{Served: s, Now: noon, Numbers: map[types.NamespacedName]Number{}}
				for _, c := range s.Claimants() {
					g.Numbers[c.Key] = Number{Programmed: true}
					if len(s.Backends(c.Key)) != 1 {
						b.Fatalf("%s has no backend", c.Key)
					}
				}
				g.Gateway()
				g.Shown(controller)
				for i := range o.Routes {
					if len(g.Parents(controller, &o.Routes[i])) != 1 {
						b.Fatalf("route %d has no parent", i)
					}
				}
				for _, set := range o.Sets {
					g.ListenerSet(set)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*routes), "µs/route")
		})
	}
}
