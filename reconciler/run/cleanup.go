package run

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cleanupTimeout is far shorter than the 30 s after which Kubernetes kills a pod.
const cleanupTimeout = 5 * time.Second

// cleanupRetry is the time between two attempts to delete the configuration.
const cleanupRetry = 200 * time.Millisecond

// cleanUpWithNamespace deletes the webhook's configuration if the process ends because its namespace is being deleted.
// The configuration is in no namespace, so it would stay, and without the webhook's pods API servers would refuse every
// change of a mux or channel. helm can't remove it, because its release record is deleted with the namespace. Pods are
// deleted first, so the process still has its rights.
func (p Process) cleanUpWithNamespace(ctx context.Context, set kubernetes.Interface, log logr.Logger) {
	if p.Options.WebhookConfiguration == "" || p.dry() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if err := p.deleteOrphanedConfiguration(ctx, set, log); err != nil {
		log.Error(err, "if the namespace is being deleted, delete the webhook's configuration by hand",
			"validatingWebhookConfiguration", p.Options.WebhookConfiguration)
	}
}

func (p Process) deleteOrphanedConfiguration(ctx context.Context, set kubernetes.Interface, log logr.Logger) error {
	namespace, err := set.CoreV1().Namespaces().Get(ctx, p.Options.Namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return nil // helm uninstall deletes the rights before the pod ends, and deletes the configuration itself
	case apierrors.IsNotFound(err), err == nil && namespace.DeletionTimestamp.IsZero():
		return nil
	case err != nil:
		return fmt.Errorf("read namespace %s: %w", p.Options.Namespace, err)
	}
	name := p.Options.WebhookConfiguration
	if err := deleteConfiguration(ctx, set, name); err != nil {
		return fmt.Errorf("delete ValidatingWebhookConfiguration %s: %w", name, err)
	}
	log.Info("deleted the webhook's configuration, because the namespace is being deleted", "namespace",
		p.Options.Namespace,
		"validatingWebhookConfiguration", name)
	return nil
}

// deleteConfiguration retries a refused deletion until ctx ends. The chart's policy refuses it while the namespace
// isn't being deleted, and the API server's cache of namespaces may be stale for a moment.
func deleteConfiguration(ctx context.Context, set kubernetes.Interface, name string) error {
	var refused error
	err := wait.PollUntilContextCancel(ctx, cleanupRetry, true, func(ctx context.Context) (bool, error) {
		err := set.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(ctx, name, metav1.DeleteOptions{})
		if apierrors.IsForbidden(err) {
			refused = err
			return false, nil
		}
		return true, client.IgnoreNotFound(err)
	})
	if refused != nil && ctx.Err() != nil {
		return refused
	}
	return err
}
