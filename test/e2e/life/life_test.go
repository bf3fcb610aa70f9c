package life

import (
	"testing"

	"nowake.ai/svc-lb-mux/test/long"
)

// TestLife changes releases in several ways, one after the other, on one cluster.
func TestLife(t *testing.T) {
	w := start(t)
	t.Run("installed before cert-manager is ready", func(t *testing.T) {
		long.Only(t, "test/e2e/install stops without cert-manager; in test/e2e/certs, pods wait for their Secret")
		testEarly(t, w)
	})
	main := mainRelease(t)
	if !t.Run("upgraded from the original", func(t *testing.T) { testFromOriginal(t, w, main) }) {
		return // the other parts need the result of this one
	}
	t.Run("restarted under load", func(t *testing.T) {
		long.Only(t, "test/e2e/upgrade")
		testRestart(t, w)
	})
	t.Run("with fewer namespaces for muxes, and then all again", func(t *testing.T) {
		long.Only(t, "TestMuxesOfOtherNamespaces in test/e2e/reconciler")
		testMuxNamespaces(t, w, main)
	})
	t.Run("beside other releases", func(t *testing.T) {
		long.Only(t, "test/e2e/install runs another release beside the first")
		testBeside(t, w)
	})
	t.Run("the chart is uninstalled first, and installed again", func(t *testing.T) { testChartFirst(t, w, main) })
	t.Run("the channels are deleted first", func(t *testing.T) { testChannelsFirst(t, w, main) })
	t.Run("the namespace is deleted first", func(t *testing.T) { testNamespaceFirst(t, w) })
}
