package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const header = "apiVersion: controller.config.cert-manager.io/v1alpha1\nkind: ControllerConfiguration\n"

func configured(t *testing.T, file string, args ...string) (*certController, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := newController()
	if err != nil {
		t.Fatal(err)
	}
	return c, configure("controller", c, append(args, "--config="+path))
}

func TestFlagsOverrideTheFileAndTheFileOverridesDefaults(t *testing.T) {
	c, err := configured(t, header+`
namespace: file
healthzListenAddress: file:1
controllers: [issuers]
leaderElectionConfig: {enabled: false, retryPeriod: 3s}
`, "--namespace=flag", "--controllers=issuers", "--controllers=certificates-trigger")
	if err != nil {
		t.Fatal(err)
	}
	leader := c.config.LeaderElectionConfig
	got := []string{c.config.Namespace, c.config.HealthzListenAddress, c.config.MetricsListenAddress,
		leader.RetryPeriod.Duration.Duration.String(), leader.RenewDeadline.Duration.Duration.String()}
	want := []string{"flag", "file:1", "0.0.0.0:9402", "3s", "40s"}
	if !slices.Equal(got, want) || *leader.Enabled {
		t.Errorf("got %q and leader election %t, want %q without", got, *leader.Enabled, want)
	}
	if want := []string{"issuers", "certificates-trigger"}; !slices.Equal(c.config.Controllers, want) {
		t.Errorf("controllers are %q, want %q: a list of flags must not be counted twice", c.config.Controllers, want)
	}
}

func TestFilesAreReadStrictly(t *testing.T) {
	for name, test := range map[string]struct{ file, complaint string }{
		"a misspelt field":       {header + "nameSpaces: a", "nameSpaces"},
		"another kind":           {strings.Replace(header, "Controller", "Webhook", 1), "WebhookConfiguration"},
		"metrics that need TLS":  {header + "metricsTLSConfig: {filesystem: {certFile: a}}", "plain HTTP"},
		"no kind, no apiVersion": {"namespace: a", "expected"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := configured(t, test.file)
			if err == nil || !strings.Contains(err.Error(), test.complaint) {
				t.Errorf("the error is %v, want one that says %q", err, test.complaint)
			}
		})
	}
}

func TestChartFlagsOfUnlinkedFeaturesAreAccepted(t *testing.T) {
	var args []string
	for _, name := range ignoredFlags {
		args = append(args, "--"+name+"=a=b,c=d")
	}
	if _, err := configured(t, header, args...); err != nil {
		t.Error(err)
	}
}
