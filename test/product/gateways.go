package product

import (
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// SeparateStates gives each agent of a pool a folder of its own: the nodes of a test cluster share one file system.
func SeparateStates(t testing.TB, c *cluster.Cluster, pool string) {
	t.Helper()
	c.Kubectl(t, "patch", "daemonset", Release+"-gateway-"+pool, "--namespace="+Namespace,
		`--patch={"spec":{"template":{"spec":{"containers":[
		{"name":"agent","volumeMounts":[
		{"name":"state","mountPath":"/var/lib/svc-lb-mux-gateway","subPathExpr":"$(NODE_NAME)"}]}]}}}}`)
	c.Kubectl(t, "rollout", "status", "daemonset/"+Release+"-gateway-"+pool, "--namespace="+Namespace, "--timeout=120s")
}
