package selfmanaged

import (
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// seen is a World and the objects that it was read from.
type seen struct {
	world         World
	configuration *admissionregistrationv1.ValidatingWebhookConfiguration
	secret        *corev1.Secret // nil if there is none
}

// observe reads both objects from the API server, not from a cache: a stale object must not be the base of a write.
func (k *Keeper) observe(ctx context.Context) (seen, error) {
	var configuration admissionregistrationv1.ValidatingWebhookConfiguration
	if err := k.options.Client.Get(ctx, types.NamespacedName{Name: k.options.Configuration}, &configuration); err != nil {
		return seen{}, fmt.Errorf("reading ValidatingWebhookConfiguration %s to keep its CA bundle: %w",
			k.options.Configuration, err)
	}
	names, err := namesOf(&configuration)
	if err != nil {
		return seen{}, err
	}
	s := seen{configuration: &configuration, secret: &corev1.Secret{}}
	s.world = World{Names: names, Pending: k.pending, Now: k.options.Now(), Policy: k.options.Policy, Since: k.since}
	for i := range configuration.Webhooks {
		s.world.Bundles = append(s.world.Bundles, configuration.Webhooks[i].ClientConfig.CABundle)
	}
	err = k.options.Client.Get(ctx, k.options.Secret, s.secret)
	switch {
	case apierrors.IsNotFound(err):
		s.secret = nil
	case err != nil:
		return seen{}, fmt.Errorf("reading Secret %s with the webhook's certificate: %w", k.options.Secret, err)
	default:
		s.world.Secret = read(s.secret.Data)
		s.world.Owned = slices.ContainsFunc(s.secret.OwnerReferences, func(owner metav1.OwnerReference) bool {
			return owner.UID == configuration.UID
		})
	}
	k.noteTrustedSince(s.world)
	return s, nil
}

// namesOf returns the name by which the API server calls the webhook, and the longer name that other clients use.
func namesOf(configuration *admissionregistrationv1.ValidatingWebhookConfiguration) ([]string, error) {
	for i := range configuration.Webhooks {
		if service := configuration.Webhooks[i].ClientConfig.Service; service != nil {
			name := service.Name + "." + service.Namespace + ".svc"
			return []string{name, name + ".cluster.local"}, nil
		}
	}
	return nil, fmt.Errorf("ValidatingWebhookConfiguration %s names no Service in any clientConfig: the certificate is "+
		"made for a Service only", configuration.Name)
}

// noteTrustedSince records since when each authority has been in every bundle.
func (k *Keeper) noteTrustedSince(w World) {
	inAll := map[string]int{}
	for _, text := range w.Bundles {
		for _, cert := range readCertificates(text) {
			inAll[string(cert.Raw)]++
		}
	}
	for raw := range k.since {
		if inAll[raw] < len(w.Bundles) {
			delete(k.since, raw)
		}
	}
	for raw, count := range inAll {
		if _, known := k.since[raw]; !known && count >= len(w.Bundles) {
			k.since[raw] = w.Now
		}
	}
}
