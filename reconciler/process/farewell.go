package process

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

// farewellPatience is a small part of the 30 s after which Kubernetes kills.
const farewellPatience = 5 * time.Second

// farewellPause is the time between two attempts to delete the configuration.
const farewellPause = 200 * time.Millisecond

// farewell takes the webhook's configuration along if the process ends because its namespace is being deleted. The
// configuration is in no namespace, so it would stay, ask for a webhook that is gone, and have every change of a mux or a
// channel refused; and helm's memory of the release, which could remove it, goes with the namespace. Pods are the first that
// are ended there, so the process's rights last for as long as this takes.
func (p Process) farewell(ctx context.Context, log logr.Logger) {
	if p.Options.WebhookConfiguration == "" || p.dry() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellPatience)
	defer cancel()
	if err := p.takeConfigurationAlong(ctx, log); err != nil {
		log.Error(err, "If the namespace is being deleted, delete the webhook's configuration by hand",
			"validatingWebhookConfiguration", p.Options.WebhookConfiguration)
	}
}

func (p Process) takeConfigurationAlong(ctx context.Context, log logr.Logger) error {
	set, err := kubernetes.NewForConfig(p.Config)
	if err != nil {
		return err
	}
	namespace, err := set.CoreV1().Namespaces().Get(ctx, p.Options.Namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return nil // helm uninstall takes the rights away before a pod has ended, and the configuration by itself
	case apierrors.IsNotFound(err), err == nil && namespace.DeletionTimestamp.IsZero():
		return nil
	case err != nil:
		return fmt.Errorf("read namespace %s: %w", p.Options.Namespace, err)
	}
	name := p.Options.WebhookConfiguration
	if err := deleteConfiguration(ctx, set, name); err != nil {
		return fmt.Errorf("delete ValidatingWebhookConfiguration %s: %w", name, err)
	}
	log.Info("the namespace is being deleted, and the webhook's configuration went with it", "namespace", p.Options.Namespace,
		"validatingWebhookConfiguration", name)
	return nil
}

// deleteConfiguration retries a refused deletion until ctx ends. The chart's policy refuses it while the namespace lives, and
// the API server's cache of namespaces may be stale for a moment.
func deleteConfiguration(ctx context.Context, set kubernetes.Interface, name string) error {
	var refused error
	err := wait.PollUntilContextCancel(ctx, farewellPause, true, func(ctx context.Context) (bool, error) {
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
