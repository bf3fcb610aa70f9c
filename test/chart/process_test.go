package chart

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	agentprocess "nowake.ai/svc-lb-mux/balancer/process"
	controlprocess "nowake.ai/svc-lb-mux/reconciler/addresses/process"
	"nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/webhook"
)

// TestProcessesTakeTheirArguments parses the chart's arguments as each process does.
func TestProcessesTakeTheirArguments(t *testing.T) {
	for name, flags := range map[string][]string{
		"by default": nil,
		"all options": append(everything(),
			"--set=webhook.predictions.strict=true,webhook.predictions.hideHolders=true,webhook.port=10250",
			"--set=logLevel=debug,rbac.muxNamespaces={infra,team-a}"),
		"with self-managed certificates": {"--set=certs.mode=selfManaged"},
		"with a console for users":       {"--set=debugWeb.auth.mode=kubernetes"},
		"without predictions":            {"--set=webhook.predictions.enabled=false"},
		"with client certificates": {
			"--set=webhook.clientCA.configMap=api-servers,webhook.clientCA.names={apiserver,api.example.com}"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := render(t, flags...)
			for _, pod := range podsOf(objects) {
				for _, container := range pod.spec.Containers {
					if strings.Contains(container.Image, "/gateway:") {
						takenByGateway(t, objects, container.Args)
					} else if err := takes(container.Image, container.Args); err != nil {
						t.Errorf("%s: %v", pod.owner, err)
					}
				}
			}
		})
	}
}

func takes(image string, args []string) error {
	environment := func(name string) string {
		return map[string]string{"KUBERNETES_SERVICE_HOST": "10.96.0.1"}[name]
	}
	set := flag.NewFlagSet(image, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	var check func() error
	if strings.Contains(image, "/reconciler:") {
		options := run.DefaultOptions(environment)
		options.AddFlags(set)
		check = options.Check
	} else {
		options := webhook.DefaultOptions(environment)
		options.AddFlags(set)
		check = func() error { return options.Check() } // checks the options after the flags are parsed
	}
	if err := set.Parse(args); err != nil {
		return err
	}
	return check()
}

// takenByGateway parses the arguments of the gateways' controller or of an agent. The controller reads its file of
// pools.
func takenByGateway(t *testing.T, objects []runtime.Object, args []string) {
	t.Helper()
	environment := func(name string) string {
		return map[string]string{"KUBERNETES_SERVICE_HOST": "10.96.0.1", "NODE_NAME": "node-1"}[name]
	}
	set := flag.NewFlagSet(args[0], flag.ContinueOnError)
	set.SetOutput(io.Discard)
	agent, controller := agentprocess.DefaultOptions(environment), controlprocess.DefaultOptions(environment)
	check := agent.Check
	if args[0] == "agent" {
		agent.AddFlags(set)
	} else {
		controller.AddFlags(set)
		check = controller.Check
	}
	if err := set.Parse(args[1:]); err != nil {
		t.Error(err)
	}
	controller.Pools = filepath.Join(t.TempDir(), "pools.yaml")
	file := named[*corev1.ConfigMap](t, objects, "svc-mux-gateways").Data["pools.yaml"]
	if err := errors.Join(os.WriteFile(controller.Pools, []byte(file), 0o600), check()); err != nil {
		t.Errorf("%s: %v", args[0], err)
	}
}

func TestMemoryLimitsReachTheRuntime(t *testing.T) {
	for name, tc := range map[string]struct{ limits, want string }{
		"mebibytes":       {"{memory: 100Mi}", "92160KiB"},
		"gibibytes":       {"{memory: 2Gi}", "1887436KiB"},
		"another unit":    {"{memory: 100M}", ""},
		"a plain number":  {"{memory: 104857600}", ""},
		"no memory limit": {"{cpu: 1, memory: null}", ""},
		"no limits":       {"null", ""},
	} {
		t.Run(name, func(t *testing.T) {
			objects := render(t, "--set-json=resources.limits="+asJSON(t, tc.limits))
			got := ""
			for _, env := range named[*appsv1.Deployment](t, objects, "svc-mux").Spec.Template.Spec.Containers[0].Env {
				if env.Name == "GOMEMLIMIT" {
					got = env.Value
				}
			}
			if got != tc.want {
				t.Errorf("GOMEMLIMIT %q, want %q", got, tc.want)
			}
		})
	}
}

// TestWebhookLimitsItsMemory checks that the chart sets the limits of the webhook that test/bench/webhook attacks.
func TestWebhookLimitsItsMemory(t *testing.T) {
	container := named[*appsv1.Deployment](t, render(t), "svc-mux-webhook").Spec.Template.Spec.Containers[0]
	if limit := container.Resources.Limits.Memory().String(); limit != "256Mi" {
		t.Errorf("the memory limit is %s", limit)
	}
	if env := container.Env; len(env) != 1 || env[0].Name != "GOMEMLIMIT" || env[0].Value != "131072KiB" {
		t.Errorf("the environment is %v", env)
	}
}

func asJSON(t *testing.T, text string) string {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
