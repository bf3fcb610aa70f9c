package gateways

import (
	"slices"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

// testCommandLine asks svcmux who carries the mux, and how the gateways are.
func testCommandLine(t *testing.T, w *world, addresses []string) {
	program, err := product.CommandLine(t.Context(), t.TempDir(), product.Version)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(args ...string) string {
		out, err := w.Run(t.Context(), cluster.Program{Args: append([]string{program}, args...)})
		if err != nil {
			t.Errorf("svcmux %s: %v", strings.Join(args, " "), err)
		}
		return strings.Join(strings.Fields(out.Stdout), " ")
	}
	carrier := w.service(t, namespace, "mux").Annotations[prefix+"/carried-by"]
	shown := slices.Sorted(slices.Values(addresses))
	if got, want := ask("explain", shop+"/web"), "ok address "+strings.Join(shown, ", ")+", carried by "+
		carrier; !strings.Contains(got, want) {
		t.Errorf("svcmux explain says %s, and not %s", got, want)
	}
	if got := ask("status", "-o", "json"); !strings.Contains(got, `"carriedBy": "`+carrier+`"`) {
		t.Errorf("svcmux status doesn't say that %s carries the mux: %s", carrier, got)
	}
	got := ask("doctor")
	for _, node := range w.Nodes() {
		want := "ok gateway " + node.Name + " of pool " + pool + " is alive, serves 1 mux, and holds "
		if !strings.Contains(got, want) {
			t.Errorf("svcmux doctor says %s, and not %s", got, want)
		}
	}
}
