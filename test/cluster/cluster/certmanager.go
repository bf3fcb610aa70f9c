package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"nowake.ai/svc-lb-mux/test/cluster/binaries"
)

// certManagerNamespace is where it keeps its own secrets, and runs, if it runs in pods.
const certManagerNamespace = "cert-manager"

// startCertManager returns when cert-manager's webhook admits its objects.
func (c *Cluster) startCertManager(ctx context.Context) error {
	if c.options.nodes > 0 {
		return c.installCertManager(ctx)
	}
	return c.runCertManager(ctx)
}

// certManagerParts are its chart's images, and the values that say where each is.
func certManagerParts() map[string]string {
	return map[string]string{
		"controller": "image", "webhook": "webhook.image", "cainjector": "cainjector.image",
		"startupapicheck": "startupapicheck.image",
	}
}

func certManagerImage(part string) string { return "svc-lb-mux.test/cert-manager-" + part }

func (c *Cluster) certManagerImages() []Image {
	var images []Image
	for part := range certManagerParts() {
		images = append(images, Image{
			Name:    certManagerImage(part) + ":v" + binaries.CertManagerVersion,
			Program: filepath.Join(c.bin["certmanager"], "certmanager"), As: "/certmanager",
			Entrypoint: []string{"/certmanager", part},
		})
	}
	return images
}

// installCertManager installs its own chart, as a user does; the chart's own hook waits until it works.
func (c *Cluster) installCertManager(ctx context.Context) error {
	args := []string{"install", "cert-manager", filepath.Join(c.bin["certmanager"], "chart"), "--wait", "--timeout=120s",
		"--namespace=" + certManagerNamespace, "--create-namespace", "--set=crds.enabled=true"}
	for part, value := range certManagerParts() {
		args = append(args, fmt.Sprintf("--set=%[1]s.repository=%[2]s,%[1]s.tag=v%[3]s",
			value, certManagerImage(part), binaries.CertManagerVersion))
	}
	_, err := c.TryHelm(ctx, args...)
	return err
}

// certManagerWebhooks point the API server at the webhook as a process; the chart makes the like for a Service.
const certManagerWebhooks = `
apiVersion: v1
kind: Namespace
metadata: {name: cert-manager}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: cert-manager-webhook
  annotations: {cert-manager.io/inject-ca-from-secret: cert-manager/cert-manager-webhook-ca}
webhooks:
- name: webhook.cert-manager.io
  admissionReviewVersions: [v1]
  sideEffects: None
  rules: [{apiGroups: [cert-manager.io], apiVersions: [v1], operations: [CREATE, UPDATE], resources: ["*/*"]}]
  clientConfig: {url: "https://localhost:10250/validate"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: cert-manager-webhook
  annotations: {cert-manager.io/inject-ca-from-secret: cert-manager/cert-manager-webhook-ca}
webhooks:
- name: webhook.cert-manager.io
  admissionReviewVersions: [v1]
  sideEffects: None
  rules: [{apiGroups: [cert-manager.io], apiVersions: [v1], operations: [CREATE], resources: [certificaterequests]}]
  clientConfig: {url: "https://localhost:10250/mutate"}
`

// runCertManager starts its three parts as processes, which takes a fraction of what pods take.
func (c *Cluster) runCertManager(ctx context.Context) error {
	dir := c.bin["certmanager"]
	if _, err := c.TryKubectl(ctx, "", "apply", "--server-side", "-f", filepath.Join(dir, "crds")); err != nil {
		return err
	}
	if _, err := c.TryKubectl(ctx, certManagerWebhooks, "apply", "-f", "-"); err != nil {
		return err
	}
	if err := c.admit(identity{file: "cert-manager", name: "cert-manager", groups: []string{"system:masters"}}); err != nil {
		return err
	}
	common := []string{"--kubeconfig=" + c.configs["cert-manager"]}
	parts := map[string]string{
		"webhook": "--secure-port=10250 --dynamic-serving-ca-secret-namespace=cert-manager --metrics-listen-address=0 " +
			"--dynamic-serving-ca-secret-name=cert-manager-webhook-ca --dynamic-serving-dns-names=localhost",
		"cainjector": "--leader-elect=false --metrics-listen-address=0",
		"controller": "--leader-elect=false --cluster-resource-namespace=cert-manager",
	}
	for part, flags := range parts {
		args := append(common, strings.Fields(flags)...)
		if err := c.componentIn("", "cert-manager-"+part, filepath.Join(dir, part), args...).Start(); err != nil {
			return err
		}
	}
	_, err := c.Run(ctx, Program{Args: append([]string{filepath.Join(dir, "startupapicheck"), "check", "api", "--wait=1m",
		"--namespace=" + certManagerNamespace}, common...)})
	return err
}
