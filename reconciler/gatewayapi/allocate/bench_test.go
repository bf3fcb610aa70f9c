package allocate

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// BenchmarkWorstRoutesOfAListenerSet has routes with ListenerSets of their own, which all name one and the same
// ListenerSet since an edit. The time for one route must not grow with the number of routes.
func BenchmarkWorstRoutesOfAListenerSet(b *testing.B) {
	for _, routes := range [...]int{500, 4000} {
		b.Run(fmt.Sprintf("routes=%d", routes), func(b *testing.B) {
			s := newStage(b)
			var all []read.Route
			var sets []*gatewayv1.ListenerSet
			for i := range routes {
				object := &gatewayv1.TCPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("broker-%d", i),
					UID:         types.UID(fmt.Sprint(i)),
					Annotations: map[string]string{s.keys.Gateway: "infra/edge"}}}
				object.Spec.ParentRefs = []gatewayv1.ParentReference{{Kind: ptr.To(gatewayv1.Kind("ListenerSet")), Name: "all"}}
				route, _ := read.RouteOf(object)
				all = append(all, route)
				claim := plan.Claim{Public: int32(10000 + i)}
				sets = append(sets, read.ListenerSet(&s.keys, &route, object.Name,
					types.NamespacedName{Namespace: "infra", Name: "edge"}, &claim))
			}
			for b.Loop() {
				o := &pass{line: s.line, routes: map[types.NamespacedName]*asking{}, sets: sets}
				for i := range all {
					o.add(&all[i])
				}
				if err := o.checkSets(b.Context()); err != nil {
					b.Fatal(err)
				}
				if last := &o.world.Channels[routes-1]; len(last.Problems) != 1 || o.routes[last.Key].asks.ListenerSet == "all" {
					b.Fatalf("the last route has problems %v", last.Problems)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*routes), "µs/route")
		})
	}
}
