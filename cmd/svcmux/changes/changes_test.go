package changes

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
	"nowake.ai/svc-lb-mux/cmd/svcmux/validate"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestGoldenPlan(t *testing.T) {
	const files = "-f testdata/files/"
	tenant := []string{"services", "services/svc-mux", "endpointslices", "endpointslices/svc-mux", "configmaps/svc-mux",
		"deployments"}
	for name, tc := range map[string]looktest.Case{
		"channels":          {World: "healthy", Args: files + "channels.yaml", Code: 2},
		"channels-40":       {World: "healthy", Args: files + "channels.yaml", Columns: "40", Code: 2},
		"channels-json":     {World: "healthy", Args: files + "channels.yaml -o json", Code: 2},
		"channels-markdown": {World: "healthy", Args: files + "channels.yaml -o markdown", Code: 2},
		"channels-no-ledger": {World: "healthy", Args: files + "channels.yaml", Forbidden: []string{"configmaps/svc-mux"},
			Code: 2},
		"channels-tenant":   {World: "healthy", Args: files + "channels.yaml", Forbidden: tenant, Code: 2},
		"channels-own-only": {World: "healthy", Args: files + "channels.yaml", Forbidden: []string{"services"}, Code: 2},
		"channels-frozen":   {World: "frozen", Args: files + "channels.yaml", Code: 2},
		"channels-paused":   {World: "paused", Args: files + "channels.yaml", Code: 2},
		"channels-full":     {World: "full", Args: files + "channels.yaml", Code: 3},
		"listeners":         {World: "listeners", Args: files + "listeners.yaml", Code: 3},
		"ranges":            {World: "ranges", Args: files + "ranges.yaml", Code: 3},
		"ranges-json":       {World: "ranges", Args: files + "ranges.yaml -o json", Code: 3},
		"refused":           {World: "several", Args: files + "refused.yaml", Code: 3},
		"refused-markdown":  {World: "several", Args: files + "refused.yaml -o markdown", Code: 3},
		"unquoted":          {World: "healthy", Args: files + "unquoted.yaml", Code: 3},
		"empty-setting":     {World: "healthy", Args: files + "empty-setting.yaml", Code: 3},
		"forbidden-name":    {World: "names", Args: files + "forbidden-name.yaml", Code: 3},
		"still-refused":     {World: "full", Args: files + "still-refused.yaml", Code: 2},
		"same":              {World: "healthy", Args: files + "same.yaml"},
		"same-json":         {World: "healthy", Args: files + "same.yaml -o json"},
		"dropped":           {World: "healthy", Args: files + "dropped.yaml", Code: 2},
		"dropped-busy":      {World: "busy", Args: files + "dropped.yaml", Code: 2},
		"waits":             {World: "busy", Args: files + "waits.yaml", Code: 2},
		"new-mux":           {World: "several", Args: files + "new-mux.yaml", Code: 3},
		"new-mux-alone":     {World: "none", Args: files + "new-mux.yaml", Code: 3},
		"settings":          {World: "healthy", Args: files + "settings.yaml", Code: 3},
		"directory":         {World: "healthy", Args: "-f testdata/files", Code: 1},
		"no-such-file":      {World: "healthy", Args: files + "nix.yaml", Code: 1},
		"broken":            {World: "healthy", Args: files + "broken.yaml", Code: 1},
		"no-service":        {World: "healthy", Args: files + "other.yaml", Code: 1},
		"no-file":           {World: "healthy", Code: 1},
		"wrong-format":      {World: "healthy", Args: files + "same.yaml -o pdf", Code: 1},
		"wrong-flag":        {World: "healthy", Args: "--nix", Code: 1},
		"an-argument":       {World: "healthy", Args: "nix", Code: 1},
		"no-rights": {World: "healthy", Args: files + "same.yaml",
			Forbidden: []string{"services", "services/shop", "deployments"}, Code: 1},
	} {
		t.Run(name, func(t *testing.T) { looktest.Golden(t, Command, name, tc, *update) })
	}
}

// TestNumberThatComesAnywayIsNoChange has a channel outside the files that waits for a grace.
func TestNumberThatComesAnywayIsNoChange(t *testing.T) {
	waits, err := os.ReadFile("testdata/files/waits.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := looktest.Load(t, looktest.Worlds+"/busy.yaml")
	c.Apply(string(waits))
	c.Reconcile()
	kubeconfig, _ := c.Serve(t)
	got := looktest.RunAt(t, Command, kubeconfig, "", "-f", "testdata/files/same.yaml")
	if got.Code != 0 || got.Out != "No change.\n" {
		t.Errorf("exit code %d:\n%s%s", got.Code, got.Out, got.Err)
	}
}

// TestDisabledChannelLosesALaterNumber has a disabled channel, which holds a number and waits for another one, whose
// grace ends later. The files forbid that other number.
func TestDisabledChannelLosesALaterNumber(t *testing.T) {
	const mux = `{kind: Service, metadata: {namespace: svc-mux, name: mux,
  annotations: {svc-mux.nowake.ai/multiplexer: "true", svc-mux.nowake.ai/provider: none,
  svc-mux.nowake.ai/release-grace: 20m%s}}, spec: {type: LoadBalancer%s}}`
	const channel = `{kind: Service, metadata: {namespace: shop, name: %s%s},
  spec: {type: LoadBalancer, loadBalancerClass: svc-mux.nowake.ai/mux, ports: [{name: one, port: %d, protocol: TCP}]}}`
	c := looktest.Empty(t)
	for _, document := range []string{
		fmt.Sprintf(mux, "", ", ports: [{name: own, port: 9, protocol: TCP}]"),
		fmt.Sprintf(channel, "first", "", 444), fmt.Sprintf(channel, "disabled", "", 80),
		fmt.Sprintf(channel, "first", "", 81),
		fmt.Sprintf(channel, "disabled", `, annotations: {svc-mux.nowake.ai/disabled: "true"}`, 444),
	} {
		c.Apply(document)
		c.Reconcile()
	}
	files := []*corev1.Service{{}}
	if err := yaml.UnmarshalStrict(fmt.Appendf(nil, mux, `, svc-mux.nowake.ai/explicit-range: 1-443`, ""),
		files[0]); err != nil {
		t.Fatal(err)
	}
	report, err := Predict(c.World(), validate.Objects{Services: files}, c.Time())
	if err != nil {
		t.Fatal(err)
	}
	want := []Port{{Name: "one", Protocol: "TCP", Change: Withdrawn, Before: 80, After: 80, Asked: 444, Source: "static"}}
	if len(report.Muxes) != 1 || len(report.Muxes[0].Channels) != 1 ||
		!slices.Equal(report.Muxes[0].Channels[0].Ports, want) {
		t.Errorf("want port %+v:\n%s", want, textOf(report))
	}
}
