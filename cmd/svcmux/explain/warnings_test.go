package explain

import (
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
)

// TestWarningsAreNotAdmissions explains a Service whose class has a typo. Admission never sees it, since it is neither
// mux nor channel.
func TestWarningsAreNotAdmissions(t *testing.T) {
	c := looktest.Load(t, looktest.Worlds+"/healthy.yaml")
	c.Apply("kind: Service\nmetadata: {namespace: shop, name: typo}\nspec: {type: LoadBalancer, loadBalancerClass: " +
		"svc-mux.nowake.al/mux, ports: [{port: 80}]}\n")
	kubeconfig, _ := c.Serve(t)
	got := looktest.RunAt(t, Command, kubeconfig, "500", "shop/typo")
	if !strings.Contains(got.Out, "\nWarnings:\n  LikelyTypo: spec.loadBalancerClass") ||
		strings.Contains(got.Out, "dmission warns") {
		t.Errorf("%+v", got)
	}
}
