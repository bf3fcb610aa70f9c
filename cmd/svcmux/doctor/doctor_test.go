package doctor

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
)

// command is the command of release v1.
func command(env cli.Env) *cobra.Command {
	env.Version = "v1"
	return Command(env)
}

func TestGoldenDoctor(t *testing.T) { looktest.Stories(t, command) }

// TestServerAndRights changes answers of the API server that aren't in the file of a world.
func TestServerAndRights(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*looktest.Server)
		want   Check
	}{
		"a server without ipMode": {func(s *looktest.Server) { s.Minor = "29" }, Check{
			"server", Failure, "Kubernetes v1.29.0 drops ipMode: a channel can get another channel's traffic within the cluster",
			"upgrade to 1.30 or newer",
		}},
		"a right is missing": {func(s *looktest.Server) { s.Denied = "patch services/status" }, Check{
			"rights", Failure, "system:serviceaccount:svc-mux:svc-mux may not patch services/status",
			"restore the roles with helm upgrade, or see rbac.muxNamespaces in the chart's values",
		}},
		"a right on muxes is missing": {func(s *looktest.Server) { s.Denied = "patch services" }, Check{
			"rights", Failure, "system:serviceaccount:svc-mux:svc-mux may not patch services in svc-mux",
			"restore the roles with helm upgrade, or see rbac.muxNamespaces in the chart's values",
		}},
		"a right of the webhook is missing": {func(s *looktest.Server) { s.Denied = "webhook: list services" }, Check{
			"rights", Failure, "system:serviceaccount:svc-mux:svc-mux-webhook may not list services",
			"restore the roles with helm upgrade, or see rbac.muxNamespaces in the chart's values",
		}},
		"too many rights": {func(s *looktest.Server) { s.Excessive = true }, Check{
			"rights", Warning, "system:serviceaccount:svc-mux:svc-mux may list secrets, create pods, create " +
				"clusterrolebindings, delete services, create services, and never needs to",
			"find the binding that gives more than the chart's roles",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			kubeconfig, server := looktest.Load(t, looktest.Worlds+"/installed.yaml").Serve(t)
			tc.change(server)
			got := reportOf(t, looktest.RunAt(t, command, kubeconfig, "", "-o", "json").Out)
			if !slices.Contains(got.Checks, tc.want) {
				t.Errorf("got %+v\nwant %+v", got.Checks, tc.want)
			}
		})
	}
}

// TestCertificateIsCheckedInEachMode changes the reconciler's flags.
func TestCertificateIsCheckedInEachMode(t *testing.T) {
	const guard = "--webhook-configuration=svc-mux.svc-mux"
	for name, tc := range map[string]struct {
		args  string
		ready int
		want  Check
	}{
		"self-managed": {guard + ", --self-managed-secret=svc-mux-webhook-tls", 2, Check{
			"certificate", OK, "the reconciler renews it, and its TLS handshakes with the webhook succeed", "",
		}},
		"self-managed, no pod is ready": {guard + ", --self-managed-secret=svc-mux-webhook-tls", 0, Check{
			"certificate", Unknown, "no pod of the reconciler is ready: the certificate may be the reason",
			"the reconciler's /readyz names it; see docs/certificates.md",
		}},
		"provided": {guard, 1, Check{
			"certificate", Unknown, "TLS handshakes of the reconciler with the webhook succeed. The certificate's end is " +
				"unknown: it is provided, and svcmux doesn't read Secrets",
			"the metric svc_lb_mux_webhook_certificate_expiry_timestamp_seconds has its end",
		}},
		"cert-manager, without the Certificate": {guard + ", --certificates=gone", 2, Check{
			"certificate", Failure, "the Certificate svc-mux/gone doesn't exist, so cert-manager doesn't renew the webhook's " +
				"certificate", "restore it with helm upgrade",
		}},
		"cert-manager, not issued": {guard + ", --certificates=slow", 2, Check{
			"certificate", Failure, "Certificate svc-mux/slow isn't issued yet",
			"kubectl describe certificate --namespace svc-mux slow shows why",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := looktest.Load(t, looktest.Worlds+"/installed.yaml")
			c.Apply(fmt.Sprintf("kind: Deployment\nmetadata: {namespace: svc-mux, name: svc-mux}\nspec: {template: {spec: "+
				"{containers: [{name: reconciler, args: [%s]}]}}}\nstatus: {availableReplicas: %d}\n---\nkind: "+
				"Certificate\nmetadata: {namespace: svc-mux, name: slow}\n", tc.args, tc.ready))
			kubeconfig, _ := c.Serve(t)
			got := reportOf(t, looktest.RunAt(t, command, kubeconfig, "", "-o", "json").Out)
			if !slices.Contains(got.Checks, tc.want) {
				t.Errorf("got %+v\nwant %+v", got.Checks, tc.want)
			}
		})
	}
}

// TestAllPagesOfDaemonSetsAreRead has kube-proxy behind 500 other DaemonSets: an API server's answer has at most 500
// objects.
func TestAllPagesOfDaemonSetsAreRead(t *testing.T) {
	c := looktest.Empty(t)
	for i := range 500 {
		c.Apply(fmt.Sprintf("kind: DaemonSet\nmetadata: {namespace: kube-system, name: other-%03d}\n", i))
	}
	c.Apply("kind: DaemonSet\nmetadata: {namespace: kube-system, name: kube-proxy}\n" +
		"spec: {template: {spec: {containers: [{image: 'registry.k8s.io/kube-proxy:v1.28.0'}]}}}\n")
	kubeconfig, _ := c.Serve(t)
	got := reportOf(t, looktest.RunAt(t, command, kubeconfig, "", "-o", "json").Out)
	if !slices.ContainsFunc(got.Checks, func(check Check) bool {
		return check.Name == "dataplane" && check.State == Failure
	}) {
		t.Errorf("kube-proxy wasn't found: %+v", got.Checks)
	}
}

func reportOf(t *testing.T, text string) report {
	t.Helper()
	var got report
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return got
}

// TestServedGatewaysNeedServices gives the reconciler every right. With the implementation of the Gateway API it may
// make Services.
func TestServedGatewaysNeedServices(t *testing.T) {
	c := looktest.Load(t, looktest.Worlds+"/installed.yaml")
	c.Apply("kind: Deployment\nmetadata: {namespace: svc-mux, name: svc-mux}\nspec: {template: {spec: {containers: " +
		"[{name: reconciler, args: [--gateway-api-implementation]}]}}}\n")
	kubeconfig, server := c.Serve(t)
	server.Excessive = true
	want := Check{
		"rights", Warning, "system:serviceaccount:svc-mux:svc-mux may list secrets, create pods, create " +
			"clusterrolebindings, and never needs to",
		"find the binding that gives more than the chart's roles",
	}
	if got := reportOf(t, looktest.RunAt(t, command, kubeconfig, "", "-o", "json").Out); !slices.Contains(got.Checks,
		want) {
		t.Errorf("got %+v\nwant %+v", got.Checks, want)
	}
}
