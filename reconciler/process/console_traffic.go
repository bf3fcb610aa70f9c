package process

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"nowake.ai/svc-lb-mux/gateway/lease"
	"nowake.ai/svc-lb-mux/validation"
)

// gatewaysIn returns a function that reads the gateways of this process's namespace. It needs the right to list Leases there.
func gatewaysIn(config *rest.Config, namespace string, keys validation.Keys) (func(context.Context) ([]lease.Gateway, error), error) {
	client, err := coordination.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) ([]lease.Gateway, error) {
		list, err := client.Leases(namespace).List(ctx, metav1.ListOptions{LabelSelector: keys.Pool})
		if err != nil {
			return nil, fmt.Errorf("the Leases of gateways in %s: %w", namespace, err)
		}
		var found []lease.Gateway
		for i := range list.Items {
			if g, is := lease.Read(&list.Items[i], keys); is {
				found = append(found, g)
			}
		}
		return found, nil
	}, nil
}
