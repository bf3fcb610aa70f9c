package life

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

// testEarly installs while parts of cert-manager are missing. Without its webhook the install fails with a reason;
// without its controller it waits. After the install, admission must be on guard.
func testEarly(t *testing.T, w *world) {
	const namespace, class = "early", prefix + "/mux.early"
	release := product.Helm{Release: product.Release, Namespace: namespace}
	w.withoutWebhook(t, release)
	w.withoutController(t, release)
	w.refuses(t, class)
	w.address(t, namespace, "mux")
	w.Helm(t, "uninstall", release.Release, "--namespace="+namespace, "--wait")
	w.takes(t, class)
	w.Kubectl(t, "delete", "namespace", namespace, "--wait=false")
}

// withoutWebhook lets the first try fail. Services that aren't ours must still be allowed.
func (w *world) withoutWebhook(t *testing.T, release product.Helm) {
	t.Helper()
	w.scale(t, "cert-manager-webhook", 0)
	// The old pods serve open connections until the end of their grace period, so shorten that.
	w.Kubectl(t, "delete", "pods", "--namespace=cert-manager", "--selector=app.kubernetes.io/component=webhook",
		"--grace-period=1")
	cluster.Eventually(t, "Issuers aren't admitted", func(ctx context.Context) error {
		if w.tryIssuer(ctx) == nil {
			return errors.New("an Issuer was admitted")
		}
		return nil
	})
	if _, err := release.Install(t.Context(), w.Cluster); err == nil ||
		!strings.Contains(err.Error(), `failed calling webhook "webhook.cert-manager.io"`) {
		t.Errorf("the error doesn't name the missing webhook: %v", err)
	}
	w.Kubectl(t, "create", "service", "clusterip", "stranger", "--tcp=80", "--dry-run=server")
	w.scale(t, "cert-manager-webhook", 1)
	w.Kubectl(t, "rollout", "status", "deployment/cert-manager-webhook", "--namespace=cert-manager", "--timeout=60s")
	cluster.Eventually(t, "Issuers are admitted", w.tryIssuer)
}

// withoutController lets the second try wait for a certificate.
func (w *world) withoutController(t *testing.T, release product.Helm) {
	t.Helper()
	w.scale(t, "cert-manager", 0)
	w.Kubectl(t, "wait", "pods", "--namespace=cert-manager", "--selector=app.kubernetes.io/component=controller",
		"--for=delete", "--timeout=60s")
	installed := make(chan error, 1)
	go func() {
		_, err := release.Install(t.Context(), w.Cluster)
		installed <- err
	}()
	cluster.Eventually(t, "the Certificate of the webhook exists", func(ctx context.Context) error {
		_, err := w.TryKubectl(ctx, "", "get", "certificate", "svc-mux-webhook", "--namespace="+release.Namespace)
		return err
	})
	select {
	case err := <-installed:
		t.Fatalf("the install ended without a certificate: %v", err)
	default:
	}
	w.scale(t, "cert-manager", 1)
	// Otherwise the new controller would wait a minute for its predecessor's lease.
	w.Kubectl(t, "delete", "lease", "cert-manager-controller", "--namespace=kube-system", "--ignore-not-found")
	if err := <-installed; err != nil {
		t.Fatalf("the second try: %v", err)
	}
}

func (w *world) scale(t *testing.T, deployment string, replicas int) {
	t.Helper()
	w.Kubectl(t, "scale", "deployment", deployment, "--namespace=cert-manager", fmt.Sprintf("--replicas=%d", replicas))
}

// tryIssuer creates an Issuer as a dry run, which cert-manager's webhook reviews.
func (w *world) tryIssuer(ctx context.Context) error {
	_, err := w.TryKubectl(ctx,
		`{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: try}, spec: {selfSigned: {}}}`,
		"create", "--dry-run=server", "--filename=-")
	return err
}
