package cluster

import (
	"context"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FakeNode is the label (with the value "true") and the taint of nodes that kwok simulates. A pod with that node
// selector and toleration runs there.
const FakeNode = "svc-lb-mux.test/fake-node"

// MaxNodes and MaxFakeNodes are limited by the address ranges. Fake pods use the upper half of the pods' range, so that
// real and fake nodes don't conflict.
const (
	MaxNodes     = 100
	MaxFakeNodes = 127
	fakePods     = "10.244.128.0/17"
	fakePods6    = "fd00:244:0:8000::/49"
)

// startKwok runs the controller that plays the kubelets of fake nodes.
func (c *Cluster) startKwok() error {
	if err := c.admit(identity{file: "kwok", name: "kwok", groups: []string{"system:masters"}}); err != nil {
		return err
	}
	args := []string{"--kubeconfig=" + c.configs["kwok"], "--manage-all-nodes=false",
		"--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
		"--node-lease-duration-seconds=40", "--server-address=127.0.0.1:10247"}
	for _, stages := range []string{"node/fast/*.yaml", "node/heartbeat-with-lease/*.yaml", "pod/fast/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(c.bin["kwok"], "stage", stages))
		if err != nil {
			return err
		}
		for _, file := range files {
			if filepath.Base(file) != "kustomization.yaml" {
				args = append(args, "--config="+file)
			}
		}
	}
	return c.componentIn("", "kwok", filepath.Join(c.bin["kwok"], "kwok"), args...).Start()
}

// AddFakeNodes adds n nodes that kwok simulates. Each holds 250 pods. Their numbers continue those of the present
// nodes.
func (c *Cluster) AddFakeNodes(ctx context.Context, n int) error {
	if n > 0 && !c.options.kwok {
		return fmt.Errorf("no kwok simulates fake nodes here: start the cluster with cluster.Kwok()")
	}
	if c.fakeNodes+n > MaxFakeNodes {
		return fmt.Errorf("%d fake nodes are too many: there are addresses for %d", c.fakeNodes+n, MaxFakeNodes)
	}
	for range n {
		c.fakeNodes++
		if _, err := c.Client.CoreV1().Nodes().Create(ctx, fakeNode(c.fakeNodes), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create a fake node: %w", err)
		}
	}
	return nil
}

func fakeNode(i int) *corev1.Node {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("64"),
		corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods:   resource.MustParse("250"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("fake-%d", i),
			Labels:      map[string]string{FakeNode: "true"},
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"}},
		Spec: corev1.NodeSpec{
			PodCIDR:  fmt.Sprintf("10.244.%d.0/24", 127+i),
			PodCIDRs: []string{fmt.Sprintf("10.244.%d.0/24", 127+i)},
			Taints:   []corev1.Taint{{Key: FakeNode, Value: "true", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
	if haveIPv6() {
		node.Spec.PodCIDRs = append(node.Spec.PodCIDRs, fmt.Sprintf("fd00:244:0:%x::/64", 0x8000+i))
	}
	return node
}

// AnswerForFakePods routes packets for every fake pod to the control plane's machine. A listener there
// (Inside().Listen) answers for all of them. A connection's local address is the pod's.
func (c *Cluster) AnswerForFakePods(ctx context.Context) error {
	script := "route add local " + fakePods + " dev lo\n"
	if haveIPv6() {
		script += "route add local " + fakePods6 + " dev lo\n"
	}
	return c.script(ctx, "", batch(script))
}
