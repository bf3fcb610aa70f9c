package changes

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
	"nowake.ai/svc-lb-mux/cmd/svcmux/validate"
	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

func TestGoldenPlan(t *testing.T) { looktest.Stories(t, Command) }

// TestNumberThatComesAnywayIsNoChange has a channel outside the files that waits for a grace.
func TestNumberThatComesAnywayIsNoChange(t *testing.T) {
	files := golden.Read(t, "testdata/stories.txtar")
	c := looktest.Load(t, looktest.Worlds+"/busy.yaml")
	c.Apply(files.Section("files/waits.yaml"))
	c.Reconcile()
	kubeconfig, _ := c.Serve(t)
	got := looktest.RunAt(t, Command, kubeconfig, "", "-f", files.Extract(t, "same.yaml"))
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
