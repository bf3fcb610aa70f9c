package reconciler

import (
	"context"
	"fmt"
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

func TestAttach(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.reconcile(t)
	mux := w.mux(t, "mux")
	web := w.channel(t, "app", "web", mux)
	api := w.channel(t, "app", "api", mux, port("https", 443, "TCP"))
	w.awaitPublic(t, mux, "20000/TCP", "443/TCP")
	w.awaitCondition(t, web, "Programmed", "True Programmed")
	w.awaitCondition(t, api, "Programmed", "True Programmed")
	cluster.Eventually(t, "address", func(context.Context) error {
		if got, want := address(w.get(t, web)), address(w.get(t, mux)); got != want+" Proxy" && got == "" {
			return fmt.Errorf("%q vs %q", got, want)
		}
		return nil
	})
	t.Log(w.get(t, mux).Annotations, address(w.get(t, web)))
	t.Log(w.Kubectl(t, "get", "cm", "-n", muxNamespace, "mux-port-allocations", "-o", "yaml"))
	w.delete(t, web)
	w.awaitPublic(t, mux, "443/TCP")
	w.delete(t, api)
	w.awaitPublic(t, mux, "101/TCP")
	t.Log(w.events(t, mux))
}
