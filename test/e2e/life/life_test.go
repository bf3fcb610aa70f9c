package life

import "testing"

// TestLife goes through what befalls releases, one thing after the other, on one cluster.
func TestLife(t *testing.T) {
	w := start(t)
	t.Run("installed before cert-manager is ready", func(t *testing.T) { testEarly(t, w) })
	main := mainRelease(t)
	if !t.Run("upgraded from the original", func(t *testing.T) { testFromOriginal(t, w, main) }) {
		return // what follows begins where this ends
	}
	t.Run("upgraded, rolled back, and forth again", func(t *testing.T) { testVersions(t, w, main) })
	t.Run("restarted while changes keep coming", func(t *testing.T) { testRestart(t, w) })
	t.Run("given a new certificate while changes keep coming", func(t *testing.T) { testRotation(t, w) })
	t.Run("with fewer namespaces for muxes, and all again", func(t *testing.T) { testMuxNamespaces(t, w, main) })
	t.Run("beside others", func(t *testing.T) { testBeside(t, w) })
	t.Run("the chart goes first, and comes back", func(t *testing.T) { testChartFirst(t, w, main) })
	t.Run("the channels go first", func(t *testing.T) { testChannelsFirst(t, w, main) })
	t.Run("the namespace goes first", func(t *testing.T) { testNamespaceFirst(t, w) })
}
