package gatewayapi

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/test/cluster/binaries"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/long"
	"nowake.ai/svc-lb-mux/test/product"
)

// envoyGateway is Envoy Gateway's control plane in a pod. The Secret has what its command certgen makes.
const envoyGateway = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: envoy-gateway, namespace: envoy-gateway-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: envoy-gateway}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: envoy-gateway, namespace: envoy-gateway-system}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: envoy-gateway-config, namespace: envoy-gateway-system}
data:
  envoy-gateway.yaml: |
    apiVersion: gateway.envoyproxy.io/v1alpha1
    kind: EnvoyGateway
    gateway: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}
    provider: {type: Kubernetes, kubernetes: {leaderElection: {disable: true}, proxyTopologyInjector: {disabled: true}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: envoy-gateway, namespace: envoy-gateway-system}
spec:
  selector: {matchLabels: {app: envoy-gateway}}
  template:
    metadata: {labels: {app: envoy-gateway}}
    spec:
      serviceAccountName: envoy-gateway
      containers:
      - name: envoy-gateway
        image: svc-lb-mux.test/envoy-gateway:1
        args: [server, --config-path=/config/envoy-gateway.yaml]
        env: [{name: ENVOY_GATEWAY_NAMESPACE, value: envoy-gateway-system}]
        readinessProbe: {httpGet: {path: /readyz, port: 8081}, periodSeconds: 2}
        volumeMounts: [{name: config, mountPath: /config}, {name: certs, mountPath: /certs}]
      volumes:
      - {name: config, configMap: {name: envoy-gateway-config}}
      - {name: certs, secret: {secretName: envoy-gateway}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: envoy}
spec: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}
`

// TestEnvoyGateway lets another project's implementation judge the allocator's ListenerSets: the control plane of Envoy
// Gateway. No Envoy runs, since its image can't be pulled here, so no packets are sent, and the Gateway isn't
// Programmed.
func TestEnvoyGateway(t *testing.T) {
	long.Only(t, `"numbers for routes, on a Gateway of ours" in TestServed, with packets`)
	built, err := cluster.Binaries(t.Context(), binaries.EnvoyGateway())
	if err != nil {
		t.Fatal(err)
	}
	program, archive := filepath.Join(built["envoygateway"], "envoy-gateway"), filepath.Join(t.TempDir(),
		"envoy-gateway.tar")
	if err := cluster.WriteArchive(archive,
		cluster.Image{Name: "svc-lb-mux.test/envoy-gateway:1", Program: program, As: "/envoy-gateway",
			Entrypoint: []string{"/envoy-gateway"}}); err != nil {
		t.Fatal(err)
	}
	w := &world{Cluster: cluster.Start(t, cluster.Nodes(1, archive), cluster.WithProvider(), cluster.Helm()),
		log: &product.Log{}}
	w.connect(t)
	w.Kubectl(t, "create", "namespace", "svc-mux")
	w.Kubectl(t, "create", "namespace", "envoy-gateway-system")
	product.InstallGatewayAPI(t, w.Cluster)
	w.grant(t, "allocator")
	t.Cleanup(w.reconcile(t, "allocator"))
	if _, err := w.Run(t.Context(), cluster.Program{Args: []string{program, "certgen", "--disable-topology-injector"},
		Env: []string{"ENVOY_GATEWAY_NAMESPACE=envoy-gateway-system"}}); err != nil {
		t.Fatal(err)
	}
	w.Apply(t, envoyGateway)
	t.Cleanup(func() {
		if t.Failed() {
			out, err := w.TryKubectl(context.WithoutCancel(t.Context()), "", "logs", "--namespace=envoy-gateway-system",
				"deployment/envoy-gateway", "--tail=40")
			t.Logf("Envoy Gateway: %s %v", out.Stdout, err)
		}
	})

	g := (&served{world: w}).stage(t, "envoy")
	g.make(numbered("envoy"))
	g.make(routeOf(numberedRoute("a", "auto"), web, one))
	g.want("gateway: Accepted=True/Accepted Programmed=False/NoResources sets=1", "set a/one: "+fine,
		"set a/one/tcp: "+fine+" "+resolved+" routes=1 kinds=TCPRoute",
		"route a/r at one: Accepted=True/Accepted "+resolved+" svc-mux.nowake.ai/Programmed=True/Programmed")
	g.envoyHas("20000/TCP,20001/TCP")
	g.make(routeOf(numberedRoute("b", "5432"), web, two))
	g.want("gateway: sets=2", "set b/two/tcp: "+fine+" routes=1", "route b/r at two: Accepted=True/Accepted")
	g.envoyHas("20000/TCP,20001/TCP,5432/TCP")
	g.remove(&gatewayv1.TCPRoute{}, "a/r")
	g.want("gateway: sets=1", "set b/two/tcp: "+fine)
	g.envoyHas("20000/TCP,5432/TCP")
}

// envoyHas waits until the Service that Envoy Gateway makes for its Envoys has some ports.
func (g *stage) envoyHas(ports string) {
	g.Helper()
	cluster.Eventually(g.T, "the Service of the Envoys has "+ports, func(ctx context.Context) error {
		var list corev1.ServiceList
		err := g.api.List(ctx, &list, client.InNamespace("envoy-gateway-system"),
			client.MatchingLabels{"gateway.envoyproxy.io/owning-gateway-name": "edge"})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(list.Items, func(svc corev1.Service) bool { return portsOf(&svc) == ports }) {
			var all []string
			for i := range list.Items {
				all = append(all, portsOf(&list.Items[i]))
			}
			return fmt.Errorf("%d Services: %s", len(list.Items), strings.Join(all, "; "))
		}
		return nil
	})
}
