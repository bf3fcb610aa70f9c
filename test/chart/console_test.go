package chart

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// TestConsole: nobody but the pod itself reaches it, unless it asks for a token; and the chart makes no Secret for one.
func TestConsole(t *testing.T) {
	for name, tc := range map[string]struct {
		flags   string
		open    bool
		args    []string
		without []string
		env     string // DEBUG_WEB_AUTH_TOKEN
	}{
		"by default it is the pod's own":       {flags: "debugWeb.enabled=true", without: []string{"--console"}},
		"off":                                  {flags: "debugWeb.enabled=false,debugWeb.auth.token=x", args: []string{"--console=false"}},
		"with a token":                         {flags: "debugWeb.auth.token=x", open: true, env: "x"},
		"with a token in a Secret":             {flags: "debugWeb.auth.existingSecret=ours,debugWeb.auth.token=x", open: true, env: "from ours"},
		"with the original's word for a token": {flags: "debugWeb.auth.enabled=true", without: []string{"--console"}},
		"with actions":                         {flags: "debugWeb.actions.enabled=true", args: []string{"--console-actions"}},
		"by tokens of the cluster": {flags: "debugWeb.auth.mode=kubernetes", open: true, args: []string{
			"--console-auth=kubernetes", "--console-address=:8080",
		}},
		"by tokens of the cluster, on another port": {flags: "debugWeb.auth.mode=kubernetes,env.DEBUG_WEB_PORT=9000", open: true,
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
					t.Errorf("no %s among %v", want, list)
				}
			}
			for _, not := range tc.without {
				if strings.Contains(strings.Join(list, " "), not) {
					t.Errorf("%s among %v", not, list)
				}
			}
			container := named[*appsv1.Deployment](t, objects, "svc-mux").Spec.Template.Spec.Containers[0]
			if got := token(container.Env); got != tc.env {
				t.Errorf("the token is %q, not %q", got, tc.env)
			}
			service := named[*corev1.Service](t, objects, "svc-mux")
			policy := named[*networkingv1.NetworkPolicy](t, objects, "svc-mux")
			if got := len(service.Spec.Ports) == 2; got != tc.open {
				t.Errorf("the Service has ports %v", service.Spec.Ports)
			}
			if got := len(policy.Spec.Ingress) == 2; got != tc.open {
				t.Errorf("the policy lets in %v", policy.Spec.Ingress)
			}
			if secrets := all[*corev1.Secret](objects); len(secrets) > 0 {
				t.Errorf("it makes a Secret: %s", secrets[0].Name)
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
