package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// newerValues are values that the chart got since the commit that test/e2e/upgrade installs. `helm upgrade
// --reuse-values` from an older chart gives none of them: Helm takes the older chart's defaults.
func newerValues() []string {
	return []string{
		"certs.certManager.nameConstraints", "debugWeb.auth.mode", "defaultLoadBalancer.provider", "externalDNS", "gateways",
		"images.gateway", "networkPolicy.egress", "networkPolicy.reviewsFrom", "portChanges", "rbac.restrictedEndpoints",
		"restraint.tolerate", "webhook.clientCA",
	}
}

// TestValuesOfAnOlderChartAreEnough renders the chart without the newer values, in each mode of certificates that uses
// them.
func TestValuesOfAnOlderChartAreEnough(t *testing.T) {
	var without []string
	for _, value := range newerValues() {
		without = append(without, fmt.Sprintf("--set-json=%s=null", value))
	}
	for _, mode := range []string{"certManager", "selfManaged"} {
		t.Run(mode, func(t *testing.T) {
			objects := render(t, slices.Concat(everything(), without, []string{"--set=certs.mode=" + mode})...)
			for _, workload := range []string{"svc-mux", "svc-mux-webhook"} {
				for _, arg := range args(t, objects, workload) {
					if strings.Contains(arg, "<nil>") || strings.HasSuffix(arg, "=") {
						t.Errorf("%s has the argument %q", workload, arg)
					}
				}
			}
		})
	}
}
