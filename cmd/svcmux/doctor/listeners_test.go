package doctor

import (
	"slices"
	"testing"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
)

// TestListenersBackendsAreCounted has a mux on which a listener has a backend, and a channel and another listener have
// none.
func TestListenersBackendsAreCounted(t *testing.T) {
	c := looktest.Load(t, looktest.Worlds+"/listeners.yaml")
	c.Apply(looktest.BackedListener)
	kubeconfig, _ := c.Serve(t)
	got := reportOf(t, looktest.RunAt(t, command, kubeconfig, "", "-o", "json").Out)
	want := Check{"slices", OK, "infra/gateway-edge carries the backends of 1 channel", ""}
	if !slices.Contains(got.Checks, want) {
		t.Errorf("got %+v\nwant %+v", got.Checks, want)
	}
}
