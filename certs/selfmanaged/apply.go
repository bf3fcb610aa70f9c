package selfmanaged

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// errChanged is a write conflict: JSON patch reports one as a failed test.
var errChanged = errors.New("the configuration has changed meanwhile")

func (k *Keeper) apply(ctx context.Context, seen seen, decision Decision) error {
	switch decision.Step {
	case Forge:
		pending, err := newAuthority(seen.world.Names, seen.world.Now, k.options.Policy)
		if err != nil {
			return fmt.Errorf("making an authority: %w", err)
		}
		k.pending = pending
	case WriteBundle:
		return k.writeBundle(ctx, seen.configuration, decision.Bundle)
	case WriteSecret:
		state, err := forge(decision.Secret, seen.world.Names, seen.world.Now, k.options.Policy)
		if err != nil {
			return fmt.Errorf("making a certificate: %w", err)
		}
		return k.writeSecret(ctx, seen, state)
	case Wait:
	}
	return nil
}

// writeBundle writes only the CA bundles, and only if the configuration still has the observed resourceVersion.
func (k *Keeper) writeBundle(ctx context.Context, configuration *admissionregistrationv1.ValidatingWebhookConfiguration,
	text []byte) error {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	steps := []operation{{"test", "/metadata/resourceVersion", configuration.ResourceVersion}}
	for i := range configuration.Webhooks {
		steps = append(steps, operation{"add", fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", i), text})
	}
	patch, err := json.Marshal(steps)
	if err != nil {
		return err
	}
	err = k.options.Client.Patch(ctx, configuration.DeepCopy(), client.RawPatch(types.JSONPatchType, patch))
	if apierrors.IsInvalid(err) { // also the answer to a failed test
		return fmt.Errorf("%w: %w", errChanged, err)
	}
	if err != nil {
		return fmt.Errorf("writing the CA bundle of ValidatingWebhookConfiguration %s: %w", configuration.Name, err)
	}
	return nil
}

// writeSecret replaces the Secret's data, and adds our labels and our owner reference. It keeps all other metadata.
func (k *Keeper) writeSecret(ctx context.Context, seen seen, state State) error {
	data, err := state.data()
	if err != nil {
		return fmt.Errorf("writing a private key: %w", err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: k.options.Secret.Namespace, Name: k.options.Secret.Name},
		Type:       corev1.SecretTypeTLS,
	}
	if seen.secret != nil {
		secret = seen.secret.DeepCopy()
	}
	secret.Data = data
	if secret.Labels == nil {
		secret.Labels = map[string]string{}
	}
	maps.Copy(secret.Labels, k.options.Labels)
	setOwner(secret, seen.configuration)
	if seen.secret == nil {
		err = k.options.Client.Create(ctx, secret)
	} else {
		err = k.options.Client.Update(ctx, secret)
	}
	if err != nil {
		return fmt.Errorf("writing Secret %s: %w", k.options.Secret, err)
	}
	return nil
}

// setOwner makes the configuration the Secret's owner, so that the Secret is garbage-collected with it. It drops a
// reference to a deleted configuration of the same name: a Secret without any other owner is garbage-collected at once.
func setOwner(secret *corev1.Secret, configuration *admissionregistrationv1.ValidatingWebhookConfiguration) {
	const kind = "ValidatingWebhookConfiguration"
	secret.OwnerReferences = slices.DeleteFunc(secret.OwnerReferences, func(owner metav1.OwnerReference) bool {
		return owner.Kind == kind && owner.Name == configuration.Name
	})
	secret.OwnerReferences = append(secret.OwnerReferences, metav1.OwnerReference{
		APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: kind, Name: configuration.Name,
		UID: configuration.UID,
	})
}
