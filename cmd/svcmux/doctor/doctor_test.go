package doctor

import (
	"encoding/json"
	"flag"
	"testing"

	"github.com/spf13/cobra"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
)

var update = flag.Bool("update", false, "rewrite golden files")

// command is the command of release v1.
func command(env cli.Env) *cobra.Command {
	env.Version = "v1"
	return Command(env)
}

func TestGoldenDoctor(t *testing.T) {
	all := []string{
		"services", "services/svc-mux", "services/shop", "endpointslices", "endpointslices/svc-mux", "configmaps/svc-mux", "deployments",
		"validatingwebhookconfigurations", "leases/svc-mux", "certificates/svc-mux", "prometheusrules/svc-mux", "version", "subjectaccessreviews",
	}
	for name, tc := range map[string]looktest.Case{
		"installed":      {World: "installed"},
		"installed-json": {World: "installed", Args: "-o json"},
		"installed-40":   {World: "installed", Columns: "40"},
		"ill":            {World: "ill", Code: 1},
		"half":           {World: "half", Code: 1},
		"none":           {World: "none", Code: 1},
		"frozen":         {World: "frozen", Code: 1},
		"full":           {World: "full", Code: 1},
		"some-rights": {World: "installed", Forbidden: []string{"validatingwebhookconfigurations", "leases/svc-mux", "certificates/svc-mux",
			"prometheusrules/svc-mux", "subjectaccessreviews", "configmaps/svc-mux"}},
		"no-rights":    {World: "installed", Forbidden: all},
		"wrong-format": {World: "installed", Args: "-o wide", Code: 2},
	} {
		t.Run(name, func(t *testing.T) { looktest.Golden(t, command, name, tc, *update) })
	}
}

// TestServerAndRights has what a world's file can't say.
func TestServerAndRights(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*looktest.Server)
		want   Check
	}{
		"a server without ipMode": {func(s *looktest.Server) { s.Minor = "29" }, Check{
			"server", Failure, "Kubernetes v1.29.0 doesn't keep ipMode: a channel can take another's traffic within the cluster", "upgrade to 1.30 or newer",
		}},
		"a right is missing": {func(s *looktest.Server) { s.Denied = "patch services/status" }, Check{
			"rights", Failure, "system:serviceaccount:svc-mux:svc-mux may not patch services/status",
			"restore the roles with helm upgrade, or see rbac.muxNamespaces in the chart's values",
		}},
		"too many rights": {func(s *looktest.Server) { s.Excessive = true }, Check{
			"rights", Warning, "system:serviceaccount:svc-mux:svc-mux needn't, but may list secrets, create pods, delete services, create services, create clusterrolebindings",
			"find the binding that gives it more than the chart's roles",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			kubeconfig, server := looktest.Load(t, looktest.Worlds+"/installed.yaml").Serve(t)
			tc.change(server)
			got := reportOf(t, looktest.RunAt(t, command, kubeconfig, "", "-o", "json").Out)
			for _, check := range got.Checks {
				if check == tc.want {
					return
				}
			}
			t.Errorf("got %+v\nwant %+v", got.Checks, tc.want)
		})
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
