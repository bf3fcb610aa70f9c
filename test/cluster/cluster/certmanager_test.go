package cluster

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/long"
)

// issued holds a self-signed Issuer, its Certificate, and a webhook configuration into which the CA must be injected.
const issued = `
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: selfsigned}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: hook}
spec: {secretName: hook-tls, dnsNames: [hook.default.svc], issuerRef: {name: selfsigned}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hook, annotations: {cert-manager.io/inject-ca-from: default/hook}}
webhooks:
- name: hook.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  objectSelector: {matchExpressions: [{key: hooked, operator: Exists}]}
  clientConfig: {service: {name: hook, namespace: default}}
`

// hook holds the webhook's Deployment and Service.
const hook = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: hook}
spec:
  selector: {matchLabels: {app: hook}}
  template:
    metadata: {labels: {app: hook}}
    spec:
      containers:
      - name: hook
        image: ` + PodImage + `
        args: [webhook]
        readinessProbe: {httpGet: {path: /readyz, port: 8443, scheme: HTTPS}, periodSeconds: 1}
        volumeMounts: [{name: tls, mountPath: /tls}]
      volumes: [{name: tls, secret: {secretName: hook-tls}}]
---
apiVersion: v1
kind: Service
metadata: {name: hook}
spec: {selector: {app: hook}, ports: [{port: 443, targetPort: 8443}]}
`

func TestCertManagerFromItsChart(t *testing.T) {
	long.Only(t, "test/e2e/install has cert-manager from its chart")
	t.Parallel()
	c := Start(t, Nodes(1), CertManager())
	if releases := c.Helm(t, "list", "-A", "-q"); releases != "cert-manager\n" {
		t.Errorf("helm list: %q", releases)
	}
	issues(t, c)
	c.Apply(t, hook)
	c.Kubectl(t, "rollout", "status", "deployment/hook", "--timeout=60s")
	answersAsWebhook(t, c)
}

func TestCertManagerAsProcesses(t *testing.T) {
	long.Only(t, "test/e2e/certs has cert-manager as processes")
	t.Parallel()
	c := Start(t, CertManager())
	issues(t, c)
	out, err := c.TryKubectl(t.Context(), `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: bad},
		spec: {secretName: bad, issuerRef: {name: selfsigned}}}`, "apply", "-f", "-")
	if err == nil || !strings.Contains(out.Stderr, "webhook.cert-manager.io") {
		t.Errorf("cert-manager's webhook allows a Certificate without a subject: %v %+v", err, out)
	}
}

// issues waits until a Certificate is ready and its CA is injected.
func issues(t *testing.T, c *Cluster) {
	t.Helper()
	c.Apply(t, issued)
	c.Kubectl(t, "wait", "--for=condition=Ready", "certificate/hook", "--timeout=60s")
	Eventually(t, "the CA bundle is filled in", func(ctx context.Context) error {
		out, err := c.TryKubectl(ctx, "", "get", "validatingwebhookconfiguration", "hook",
			"-o", "jsonpath={.webhooks[0].clientConfig.caBundle}")
		if err != nil {
			return err
		}
		bundle, err := base64.StdEncoding.DecodeString(out.Stdout)
		if err == nil && !strings.Contains(string(bundle), "BEGIN CERTIFICATE") {
			err = errors.New("the CA bundle is empty")
		}
		return err
	})
}

// answersAsWebhook creates objects that the webhook must deny or allow. Both verdicts must come from the webhook.
func answersAsWebhook(t *testing.T, c *Cluster) {
	t.Helper()
	apply := func(label string) (Output, error) {
		return c.TryKubectl(t.Context(), `{apiVersion: v1, kind: ConfigMap, metadata: {name: `+label+`,
			labels: {hooked: "yes", deny: `+label+`}}}`, "apply", "-f", "-")
	}
	Eventually(t, "the webhook denies", func(context.Context) error { // kube-proxy must know the webhook's pod first
		out, err := apply("me")
		if err == nil {
			t.Fatal("the webhook wasn't called")
		}
		if !strings.Contains(out.Stderr, "denied, as its label asks") {
			return err
		}
		return nil
	})
	if _, err := apply("nobody"); err != nil {
		t.Errorf("the webhook doesn't allow an object: %v", err)
	}
}
