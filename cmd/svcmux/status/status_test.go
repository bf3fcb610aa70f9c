package status

import (
	"flag"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestGoldenStatus(t *testing.T) {
	noMux := []string{"services", "services/svc-mux", "endpointslices", "endpointslices/svc-mux", "configmaps/svc-mux",
		"deployments"}
	for name, tc := range map[string]looktest.Case{
		"healthy":          {World: "healthy"},
		"healthy-wide":     {World: "healthy", Args: "-o wide", Columns: "240"},
		"healthy-40":       {World: "healthy", Columns: "40"},
		"healthy-json":     {World: "healthy", Args: "-o json"},
		"healthy-name":     {World: "healthy", Args: "-o name"},
		"full":             {World: "full"},
		"frozen":           {World: "frozen"},
		"paused":           {World: "paused"},
		"pending":          {World: "pending"},
		"busy":             {World: "busy"},
		"ipv6":             {World: "ipv6"},
		"gateways":         {World: "gateways"},
		"gateways-wide":    {World: "gateways", Args: "-o wide", Columns: "240"},
		"names":            {World: "names"},
		"half":             {World: "half"},
		"listeners":        {World: "listeners"},
		"several":          {World: "several"},
		"several-selector": {World: "several", Args: "-l tier=edge -o name"},
		"several-one":      {World: "several", Args: "edge/other"},
		"no-ledger":        {World: "healthy", Forbidden: []string{"configmaps/svc-mux"}},
		"a-tenant":         {World: "healthy", Forbidden: noMux},
		"none":             {World: "none", Code: 1},
		"unknown":          {World: "several", Args: "svc-mux/mxu", Code: 1},
		"plain":            {World: "several", Args: "shop/plain", Code: 1},
		"a-channel":        {World: "several", Args: "shop/web", Code: 1},
		"no-rights":        {World: "healthy", Forbidden: []string{"services", "services/shop", "deployments"}, Code: 1},
		"all-not-allowed":  {World: "healthy", Args: "-A", Forbidden: noMux, Code: 1},
		"wrong-format":     {World: "healthy", Args: "-o pdf", Code: 2},
	} {
		t.Run(name, func(t *testing.T) { looktest.Golden(t, Command, name, tc, *update) })
	}
}

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
