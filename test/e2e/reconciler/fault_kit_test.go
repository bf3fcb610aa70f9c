package reconciler

import (
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/faults"
)

// through starts a proxy to the API server that can make requests go wrong.
func (w *world) through(t *testing.T) *faults.Proxy {
	t.Helper()
	proxy, err := faults.Start(w.Config, faults.Label("reconciler"), faults.LogSize(100_000))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	return proxy
}
