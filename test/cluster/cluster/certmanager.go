package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"nowake.ai/svc-lb-mux/test/cluster/binaries"
)

// certManagerNamespace is the namespace of cert-manager's secrets, and of its pods, if it runs in pods.
const certManagerNamespace = "cert-manager"

// startCertManager starts cert-manager in pods, or as processes if there are no nodes. It waits until cert-manager's
// webhook allows objects.
func (c *Cluster) startCertManager(ctx context.Context) error {
	if c.options.nodes > 0 {
		return c.installCertManager(ctx)
	}
	return c.runCertManager(ctx)
}

// certManagerParts maps the images of cert-manager's chart to the values that set them.
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

// installCertManager installs cert-manager's chart, as a user does. The chart's own hook waits until cert-manager
// works.
func (c *Cluster) installCertManager(ctx context.Context) error {
	args := []string{"install", "cert-manager", filepath.Join(c.bin["certmanager"], "chart"), "--wait", "--timeout=120s",
		"--namespace=" + certManagerNamespace, "--create-namespace", "--set=crds.enabled=true",
		"--disable-openapi-validation"} // cert-manager's own tests check its chart
	for part, value := range certManagerParts() {
		args = append(args, fmt.Sprintf("--set=%[1]s.repository=%[2]s,%[1]s.tag=v%[3]s",
			value, certManagerImage(part), binaries.CertManagerVersion))
	}
	_, err := c.TryHelm(ctx, args...)
	return err
}

// certManagerWebhooks configures webhooks at the address of a process. The chart's configurations name a Service
// instead.
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

// runCertManager starts cert-manager's three components as processes, which start much faster than pods.
func (c *Cluster) runCertManager(ctx context.Context) error {
	dir := c.bin["certmanager"]
	if _, err := c.TryKubectl(ctx, "", "apply", "--server-side", "-f", filepath.Join(dir, "crds")); err != nil {
		return err
	}
	if _, err := c.TryKubectl(ctx, certManagerWebhooks, "apply", "-f", "-"); err != nil {
		return err
	}
	if err := c.admit(identity{file: "cert-manager", name: "cert-manager",
		groups: []string{"system:masters"}}); err != nil {
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
