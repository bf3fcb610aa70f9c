package snapshot

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/kube"
)

// readGatewayAPI lists the objects of the Gateway API, those of one namespace where the user may not read all. It
// returns remarks about kinds that the user may not read.
func readGatewayAPI(ctx context.Context, cluster *kube.Cluster, namespace string) (remarks []string, err error) {
	var partly, not []string
	for _, kind := range [...]struct {
		name, resource string
		isNamespaced   bool
	}{
		{"GatewayClasses", "gatewayclasses", false}, {"Gateways", "gateways", true}, {"ListenerSets", "listenersets", true},
		{"TCPRoutes", "tcproutes", true}, {"UDPRoutes", "udproutes", true}, {"ReferenceGrants", "referencegrants", true},
	} {
		err := list(ctx, cluster, kind.resource)
		isForbidden := kube.IsForbidden(err)
		if isForbidden && kind.isNamespaced {
			err = list(ctx, cluster, "namespaces/"+namespace+"/"+kind.resource)
		}
		switch {
		case kube.IsForbidden(err):
			not = append(not, kind.name)
		case err != nil:
			return nil, err
		case isForbidden:
			partly = append(partly, kind.name)
		}
	}
	if len(partly)+len(not) == 0 || !hasGatewayAPI(ctx, cluster) {
		return nil, nil
	}
	if len(partly) > 0 {
		remarks = append(remarks, fmt.Sprintf("You may not read the %s of all namespaces: only namespace %s is read.",
			strings.Join(partly, ", "), cli.Shown(namespace)))
	}
	if len(not) > 0 {
		remarks = append(remarks, fmt.Sprintf("You may not read %s: the snapshot lacks them.", strings.Join(not, ", ")))
	}
	return remarks, nil
}

// list reads a list for the recorder. A kind that doesn't exist isn't an error.
func list(ctx context.Context, cluster *kube.Cluster, path string) error {
	_, err := kube.JSONPages(ctx, cluster, "/apis/"+gatewayv1.GroupVersion.String()+"/"+path, func([]json.RawMessage) {})
	return err
}

// hasGatewayAPI is true if a cluster has the Gateway API. A refusal doesn't tell: the API server also refuses kinds
// that don't exist. It is false for a snapshot, which doesn't tell either.
func hasGatewayAPI(ctx context.Context, cluster *kube.Cluster) bool {
	if !cluster.Taken.IsZero() {
		return false
	}
	var group struct{}
	found, err := cluster.JSON(ctx, "/apis/"+gatewayv1.GroupVersion.String(), &group)
	return found && err == nil
}
