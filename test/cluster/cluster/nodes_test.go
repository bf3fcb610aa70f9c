package cluster

import (
	"testing"
)

func TestNodes(t *testing.T) {
	c := Start(t, Nodes(2))
	t.Log(c.Kubectl(t, "get", "nodes", "-A", "-o", "wide"))
	c.Kubectl(t, "create", "deployment", "web", "--image="+PodImage, "--replicas=3", "--", "/pod", "serve")
	c.Kubectl(t, "rollout", "status", "deployment/web", "--timeout=60s")
	t.Log(c.Kubectl(t, "get", "pods", "-A", "-o", "wide"))
}
