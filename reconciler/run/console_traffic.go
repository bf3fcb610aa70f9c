package run

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/validation"
)

// gatewaysIn returns a function that reads the gateways of this process's namespace. It needs the right to list Leases
// there.
func gatewaysIn(set kubernetes.Interface, namespace string,
	keys validation.Keys) func(context.Context) ([]lease.Gateway, error) {
	return func(ctx context.Context) ([]lease.Gateway, error) {
		list, err := set.CoordinationV1().Leases(namespace).List(ctx, metav1.ListOptions{LabelSelector: keys.Pool})
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
	}
}
