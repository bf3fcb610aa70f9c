// Package restraint tests the chart's policies against a stolen token of the reconciler, with a real API server. The
// policies must allow everything the reconciler does, and deny everything else, whatever its roles grant.
package restraint

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

const (
	prefix    = "svc-mux.nowake.ai"
	namespace = "svc-mux"
)

// Releases of the chart that run side by side, each with its own ServiceAccount and policies.
const (
	usual = "svc-mux"
	// wide has a role that grants everything, as a mistake in rbac.rules could.
	wide = "svc-mux-wide"
	// narrow serves the muxes of one namespace, although its roles would allow others.
	narrow = "svc-mux-narrow"
	// keeper manages the webhook's certificate itself.
	keeper = "svc-mux-keeper"
	// line makes muxes of Gateways. Its role would let it do everything.
	line = "svc-mux-line"
	// tolerant lets others change keys of labels and annotations.
	tolerant = "svc-mux-tolerant"
)

// releases returns the values of each release.
func releases() map[string][]string {
	return map[string][]string{
		usual: nil,
		wide:  {"rbac.rules[0].apiGroups={*}", "rbac.rules[0].resources={*}", "rbac.rules[0].verbs={*}"},
		narrow: {"rbac.muxNamespaces={" + namespace + "}", "rbac.rules[0].apiGroups={*}", "rbac.rules[0].resources={*}",
			"rbac.rules[0].verbs={*}"},
		tolerant: {"restraint.tolerate={team,app.kubernetes.io/part-of,policies.kyverno.io/last-applied-patches}"},
		line: {"gatewayApi.implementation=true", "rbac.rules[0].apiGroups={*}", "rbac.rules[0].resources={*}",
			"rbac.rules[0].verbs={*}"},
		keeper: {"certs.mode=selfManaged", "rbac.rules[0].apiGroups={*}", "rbac.rules[0].resources={*}",
			"rbac.rules[0].verbs={*}"},
	}
}

func TestMain(m *testing.M) { cluster.Main(m) }

func TestRestraint(t *testing.T) {
	w := start(t)
	t.Run("Services", func(t *testing.T) { w.try(t, serviceAbuses(), serviceUses()) })
	t.Run("EndpointSlices", func(t *testing.T) { w.try(t, sliceAbuses(), sliceUses()) })
	t.Run("ConfigMaps", func(t *testing.T) { w.try(t, ledgerAbuses(), ledgerUses()) })
	t.Run("Endpoints", func(t *testing.T) { w.try(t, endpointsAbuses(), endpointsUses()) })
	t.Run("objects of the certificate", func(t *testing.T) { w.try(t, certificateAbuses(), certificateUses(t, w)) })
	t.Run("Events", func(t *testing.T) { w.try(t, eventAbuses(), eventUses()) })
	t.Run("Leases", func(t *testing.T) { w.try(t, leaseAbuses(), leaseUses()) })
	t.Run("muxes of Gateways", func(t *testing.T) { w.try(t, gatewayMuxAbuses(), gatewayMuxUses()) })
	t.Run("gateways", func(t *testing.T) {
		w.installGateways(t)
		w.try(t, gatewayAbuses(), gatewayUses())
		foreignAddress(t, w)
	})
	t.Run("the largest objects", func(t *testing.T) { w.try(t, nil, hugeUses(t, w)) })
	t.Run("other users aren't restricted", func(t *testing.T) { othersAreLeftAlone(t, w) })
	t.Run("the configuration can be deleted with its namespace", func(t *testing.T) { farewell(t, w) })
	t.Run("no expression cost too much", func(t *testing.T) { neverFailed(t, w) })
}

// start installs the releases, and waits until the API server has their policies.
func start(t *testing.T) *world {
	t.Helper()
	w := &world{Cluster: cluster.Start(t, cluster.APIServerOnly(), cluster.Helm()), refused: map[string]bool{}}
	w.Apply(t, things)
	for release, set := range releases() {
		w.install(t, release, set)
	}
	for release := range releases() {
		cluster.Eventually(t, "the policies of "+release+" are in force", func(ctx context.Context) error {
			for _, probe := range probes() {
				probe.as = release
				if err := w.send(ctx, probe); err == nil || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
					return fmt.Errorf("%s: %w", probe.do, errors.Join(errors.New("the request is allowed"), err))
				}
			}
			return nil
		})
	}
	return w
}

// probes returns requests that are each denied by one policy.
func probes() []attempt {
	return []attempt{
		{do: "PATCH /api/v1/namespaces/" + namespace + "/services/mux", body: `{spec: {type: ClusterIP}}`},
		{do: "DELETE /apis/discovery.k8s.io/v1/namespaces/" + namespace + "/endpointslices/theirs"},
		{do: "DELETE /api/v1/namespaces/" + namespace + "/configmaps/settings"},
		{do: "PATCH /api/v1/namespaces/" + namespace + "/endpoints/theirs", body: `{metadata: {labels: {a: b}}}`},
		{do: "PATCH /api/v1/namespaces/team/events/web.theirs", body: `{message: mine}`},
	}
}
