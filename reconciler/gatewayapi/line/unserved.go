package line

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/status"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// An unserved Gateway has a GatewayClass of ours, and is in a namespace that this process doesn't serve. Another
// release may serve it, and writes its status then. If none does, the Gateway would wait forever without a reason: this
// process writes one.

// othersPatience is how long this process waits for another release to write the status of a new Gateway.
const othersPatience = 10 * time.Second

// reportUnserved writes MuxNotServed into the status of an unserved Gateway, unless another release has written it. It
// returns when to try again.
func (l *serving) reportUnserved(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	gateway, whose, err := l.whoseByClass(ctx, l.cache, key)
	if err != nil || whose != ours || !l.mayReport(gateway) {
		return 0, err
	}
	if wait := gateway.CreationTimestamp.Add(othersPatience).Sub(l.Now()); wait > 0 && wait <= othersPatience {
		return wait, nil
	}
	return l.publish(ctx, &status.Given{Served: &read.Served{Observed: &read.Observed{Gateway: gateway}}, Now: l.Now(),
		Refused: &read.Refusal{Reason: string(plan.MuxNotServed), Message: l.textUnserved(key)}})
}

// mayReport is true for a Gateway without a verdict in its status, or with MuxNotServed from this reconciler.
func (o *Options) mayReport(gateway *gatewayv1.Gateway) bool {
	said := meta.FindStatusCondition(gateway.Status.Conditions, string(gatewayv1.GatewayConditionAccepted))
	return said == nil || said.Status == metav1.ConditionUnknown || said.Reason == string(plan.MuxNotServed) &&
		strings.HasPrefix(said.Message, o.textServer())
}

func (o *Options) textUnserved(gateway types.NamespacedName) string {
	return fmt.Sprintf("%sin %s alone, and Gateway %s isn't there: make the Gateway in one of those namespaces, or have "+
		"that reconciler serve namespace %s too (rbac.muxNamespaces of the chart, --mux-namespaces)", o.textServer(),
		strings.Join(o.Namespaces, ", "), gateway, gateway.Namespace)
}

// textServer begins the messages of one reconciler. mayReport recognizes them by it.
func (o *Options) textServer() string {
	return fmt.Sprintf("the reconciler %s serves Gateways ", o.Name)
}
