package cluster

import (
	"fmt"
	"os"
	"path/filepath"
)

// WebhookClientName is the common name of the certificate that WebhookClient gives the API server.
const WebhookClientName = "api-server-webhooks"

// admissionConfig names the kubeconfig for webhooks. The API server finds the user by the webhook's Service.
const admissionConfig = `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ValidatingAdmissionWebhook
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: WebhookAdmissionConfiguration
    kubeConfigFile: %s
`

const webhookKubeconfig = `apiVersion: v1
kind: Config
users:
- name: %s
  user: {client-certificate: %s, client-key: %s}
`

// writeWebhookClient issues the certificate, and writes the API server's configuration for it.
func (c *Cluster) writeWebhookClient() error {
	if err := c.pki.issue(identity{file: WebhookClientName, name: WebhookClientName}); err != nil {
		return err
	}
	users := filepath.Join(c.Host.Dir, "webhooks.kubeconfig")
	text := fmt.Sprintf(webhookKubeconfig, c.options.webhook, c.pki.crt(WebhookClientName), c.pki.pem(WebhookClientName))
	if err := os.WriteFile(users, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the API server's users for webhooks: %w", err)
	}
	if err := os.WriteFile(c.admissionConfig(), fmt.Appendf(nil, admissionConfig, users), 0o600); err != nil {
		return fmt.Errorf("write the API server's AdmissionConfiguration: %w", err)
	}
	return nil
}

func (c *Cluster) admissionConfig() string { return filepath.Join(c.Host.Dir, "admission.yaml") }
