package chart

import (
	"flag"
	"io"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/reconciler/run"
)

// TestTheChartRefusesWhatTheReconcilerWould compares the chart's and the reconciler's verdict on each environment:
// values that the chart accepts never end in pods that don't start.
func TestTheChartRefusesWhatTheReconcilerWould(t *testing.T) {
	for name, tc := range map[string]struct {
		env, level string
		value      string
		good       bool
	}{
		"yes":                         {"DRYRUN_MODE", "", "Yes", true},
		"a number":                    {"DRYRUN_MODE", "", "1", true},
		"nothing":                     {"DRYRUN_MODE", "", "", true},
		"off, in capitals":            {"DRYRUN_MODE", "", "OFF", true},
		"perhaps":                     {"DRYRUN_MODE", "", "perhaps", false},
		"a trailing space":            {"DRYRUN_MODE", "", "true ", false},
		"two words in one":            {"DRYRUN_MODE", "", "yesno", false},
		"debugging":                   {"SVC_LB_MUX_DEBUG", "", "t", true},
		"an invalid debug switch":     {"SVC_LB_MUX_DEBUG", "", "perhaps", false},
		"a log level overrides debug": {"SVC_LB_MUX_DEBUG", "warn", "perhaps", true},
		"the console":                 {"DEBUG_WEB_ENABLED", "", "n", true},
		"an invalid console switch":   {"DEBUG_WEB_ENABLED", "", "perhaps", false},
		"an invalid actions switch":   {"DEBUG_WEB_ACTIONS_ENABLED", "", "perhaps", false},
		"a port":                      {"DEBUG_WEB_PORT", "", "9000", true},
		"a port's name":               {"DEBUG_WEB_PORT", "", "http", false},
		"a port above 65535":          {"DEBUG_WEB_PORT", "", "65536", false},
		"a variable of others":        {"HTTP_PROXY", "", "perhaps", true},
	} {
		t.Run(name, func(t *testing.T) {
			level := "--set=logLevel=" + tc.level
			told := args(t, render(t, level), "svc-mux")
			if err := judges(map[string]string{tc.env: tc.value, "KUBERNETES_SERVICE_HOST": "10.96.0.1"},
				told); (err == nil) != tc.good {
				t.Errorf("the reconciler returns %v", err)
			}
			env := "--set-string=env." + tc.env + "=" + tc.value
			if !tc.good {
				says(t, refused(t, level, env), tc.env+` "`+tc.value+`"`)
				return
			}
			for _, variable := range named[*appsv1.Deployment](t, render(t, level, env),
				"svc-mux").Spec.Template.Spec.Containers[0].Env {
				if variable.Name == tc.env && variable.Value != tc.value {
					t.Errorf("the pod's variable is %q", variable.Value)
				}
			}
		})
	}
}

// judges returns the reconciler's error for an environment and arguments.
func judges(environment map[string]string, args []string) error {
	options := run.DefaultOptions(func(name string) string { return environment[name] })
	set := flag.NewFlagSet("reconciler", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	options.AddFlags(set)
	if err := set.Parse(args); err != nil {
		return err
	}
	return options.Check()
}

// TestNumbersOfAValuesFile checks large numbers: templates get floats, and would print them with an exponent.
func TestNumbersOfAValuesFile(t *testing.T) {
	objects := render(t, `--set-json=env={"A_NUMBER":1000000,"A_SWITCH":true,"A_PART":1.5}`,
		"--set-json=defaultLoadBalancer.maxPorts=1000000")
	got := map[string]string{}
	for _, variable := range named[*appsv1.Deployment](t, objects, "svc-mux").Spec.Template.Spec.Containers[0].Env {
		got[variable.Name] = variable.Value
	}
	if got["A_NUMBER"] != "1000000" || got["A_SWITCH"] != "true" || got["A_PART"] != "1.5" {
		t.Errorf("the environment: %v", got)
	}
	if limit := named[*corev1.Service](t, objects, "mux").Annotations["svc-mux.nowake.ai/max-ports"]; limit != "1000000" {
		t.Errorf("max-ports: %q", limit)
	}
}
