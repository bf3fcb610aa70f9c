package status

import (
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
)

func TestGoldenStatus(t *testing.T) { looktest.Stories(t, Command) }

func TestThreeChannelsAreNamedAndTheOthersCounted(t *testing.T) {
	for want, channels := range map[string][]string{
		"a/a, a/b, a/c":            {"a/a", "a/b", "a/c"},
		"a/a, a/b, a/c and 2 more": {"a/a", "a/b", "a/c", "a/d", "a/e"},
	} {
		if got := named(channels); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestMuxWithoutItsChannelsPortsIsPending takes the ports away while no reconciler runs.
func TestMuxWithoutItsChannelsPortsIsPending(t *testing.T) {
	c := looktest.Load(t, looktest.Worlds+"/healthy.yaml")
	c.Apply("kind: Service\nmetadata: {namespace: svc-mux, name: mux}\nspec: {ports: [{name: placeholder, port: 101, " +
		"protocol: TCP}]}\n")
	kubeconfig, _ := c.Serve(t)
	got := looktest.RunAt(t, Command, kubeconfig, "500")
	const want = "svc-mux/mux is pending: ports of accepted channels aren't on the mux yet: 5222/TCP of chat/rooms, " +
		"5222/UDP of chat/rooms, 20000/TCP of shop/web and 1 more\n"
	if !strings.Contains(got.Out, want) {
		t.Errorf("%+v", got)
	}
}
