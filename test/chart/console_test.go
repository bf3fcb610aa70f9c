package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// TestConsole checks that only the pod itself reaches a console without tokens, and that the chart creates no Secret
// for a token.
func TestConsole(t *testing.T) {
	for name, tc := range map[string]struct {
		flags   string
		open    bool
		args    []string
		without []string
		env     string // DEBUG_WEB_AUTH_TOKEN
	}{
		"by default only from within the pod": {flags: "debugWeb.enabled=true", without: []string{"--console"}},
		"off": {flags: "debugWeb.enabled=false,debugWeb.auth.token=x",
			args: []string{"--console=false"}},
		"with a token": {flags: "debugWeb.auth.token=x", open: true, env: "x"},
		"with a token in a Secret": {flags: "debugWeb.auth.existingSecret=ours,debugWeb.auth.token=x", open: true,
			env: "from ours"},
		"the original's switch for a token": {flags: "debugWeb.auth.enabled=true", without: []string{"--console"}},
		"with actions":                      {flags: "debugWeb.actions.enabled=true", args: []string{"--console-actions"}},
		"with tokens of the cluster": {flags: "debugWeb.auth.mode=kubernetes", open: true, args: []string{
			"--console-auth=kubernetes", "--console-address=:8080",
		}},
		"with tokens of the cluster, on another port": {flags: "debugWeb.auth.mode=kubernetes,env.DEBUG_WEB_PORT=9000",
			open: true,
			args: []string{"--console-address=:9000"}},
		"over TLS": {flags: "debugWeb.tls.secretName=cert", args: []string{
			"--console-cert=/etc/svc-lb-mux/console/tls.crt", "--console-key=/etc/svc-lb-mux/console/tls.key",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			objects := render(t, "--set="+tc.flags)
			list := args(t, objects, "svc-mux")
			for _, want := range tc.args {
				if !slices.Contains(list, want) {
					t.Errorf("the argument %s is missing: %v", want, list)
				}
			}
			for _, not := range tc.without {
				if strings.Contains(strings.Join(list, " "), not) {
					t.Errorf("unexpected argument %s: %v", not, list)
				}
			}
			container := named[*appsv1.Deployment](t, objects, "svc-mux").Spec.Template.Spec.Containers[0]
			if got := token(container.Env); got != tc.env {
				t.Errorf("the token is %q, want %q", got, tc.env)
			}
			service := named[*corev1.Service](t, objects, "svc-mux")
			policy := named[*networkingv1.NetworkPolicy](t, objects, "svc-mux")
			if got := len(service.Spec.Ports) == 2; got != tc.open {
				t.Errorf("the Service has ports %v", service.Spec.Ports)
			}
			if got := len(policy.Spec.Ingress) == 2; got != tc.open {
				t.Errorf("the policy allows %v", policy.Spec.Ingress)
			}
			if secrets := all[*corev1.Secret](objects); len(secrets) > 0 {
				t.Errorf("the chart creates a Secret: %s", secrets[0].Name)
			}
		})
	}
}

// TestConsolePortIsTheOneItListensOn sets the port as users of the original do.
func TestConsolePortIsTheOneItListensOn(t *testing.T) {
	for name, tc := range map[string]struct {
		flags string
		want  int32
	}{
		"by default":                  {"debugWeb.auth.token=x", 8080},
		"another port, with a token":  {"debugWeb.auth.token=x,env.DEBUG_WEB_PORT=9000", 9000},
		"another port, within a pod":  {"env.DEBUG_WEB_PORT=9000", 9000},
		"another port, with accounts": {"debugWeb.auth.mode=kubernetes,env.DEBUG_WEB_PORT=9000", 9000},
	} {
		t.Run(name, func(t *testing.T) {
			ports := named[*appsv1.Deployment](t, render(t, "--set="+tc.flags), "svc-mux").Spec.Template.Spec.Containers[0].Ports
			i := slices.IndexFunc(ports, func(port corev1.ContainerPort) bool { return port.Name == "console" })
			if i < 0 || ports[i].ContainerPort != tc.want {
				t.Errorf("the container has the ports %v", ports)
			}
			text := notes(t, "--set="+tc.flags)
			for _, want := range []string{fmt.Sprintf("http://localhost:%d ", tc.want),
				fmt.Sprintf("deployment/svc-mux %d ", tc.want)} {
				if !strings.Contains(text, want) {
					t.Errorf("the notes lack %q:\n%s", want, text)
				}
			}
		})
	}
}

func token(env []corev1.EnvVar) string {
	for _, entry := range env {
		switch {
		case entry.Name != "DEBUG_WEB_AUTH_TOKEN":
		case entry.ValueFrom != nil:
			return "from " + entry.ValueFrom.SecretKeyRef.Name
		default:
			return entry.Value
		}
	}
	return ""
}
