package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// cniPlugins is Debian's folder of CNI plugins.
const cniPlugins = "/usr/lib/cni"

// ownDevices starts a kubelet with its own /var/lib/kubelet. Whatever --root-dir says, a kubelet empties
// /var/lib/kubelet/device-plugins and listens there, so two kubelets that share the folder would take each other's
// socket.
const ownDevices = `mkdir -p /var/lib/kubelet; mount -t tmpfs none /var/lib/kubelet; exec "$0" "$@"`

// Node is a real node: containerd, a kubelet and a kube-proxy in a separate network namespace.
type Node struct {
	nodeNetwork

	Containerd, Kubelet, KubeProxy *Component

	run string // the folder of its state, in the host's memory
}

// startNodes starts all nodes concurrently, and waits until pods can run on each. Images are imported before the
// kubelet starts: containerd mounts and unmounts while it unpacks, which confuses a starting kubelet.
func (c *Cluster) startNodes(ctx context.Context) error {
	images, err := c.writeImages()
	if err != nil {
		return err
	}
	for i := range c.options.nodes {
		node, err := c.startNode(ctx, networkOf(i+1))
		if err != nil {
			return fmt.Errorf("start %s: %w", networkOf(i+1).Name, err)
		}
		c.nodes = append(c.nodes, node)
	}
	if err := c.routePods(ctx); err != nil {
		return err
	}
	for _, node := range c.nodes {
		for _, image := range images {
			if err := c.importImage(ctx, node, image); err != nil {
				return err
			}
		}
	}
	for _, node := range c.nodes {
		if err := node.Kubelet.Start(); err != nil {
			return err
		}
	}
	for _, node := range c.nodes {
		if err := c.waitNode(ctx, node); err != nil {
			return err
		}
	}
	return nil
}

// Nodes returns the real nodes, node-1 first.
func (c *Cluster) Nodes() []*Node { return c.nodes }

// startNode starts a node without its kubelet.
func (c *Cluster) startNode(ctx context.Context, network nodeNetwork) (*Node, error) {
	node := &Node{nodeNetwork: network, run: "/run/" + network.Name}
	if err := c.script(ctx, "", batch(network.layCable())); err != nil {
		return nil, err
	}
	if err := c.script(ctx, node.Name, kernelSettings()+batch(network.layOwn())); err != nil {
		return nil, err
	}
	who := identity{file: node.Name, name: "system:node:" + node.Name, groups: []string{"system:nodes"},
		hosts: []string{node.Name, node.IP, node.IPv6}}
	if err := c.admit(who); err != nil {
		return nil, err
	}
	files, err := c.writeNodeFiles(node)
	if err != nil {
		return nil, err
	}
	node.Containerd = c.componentIn(node.Name, "containerd."+node.Name, find("containerd"), "--config", files.containerd)
	node.Kubelet = c.componentIn(node.Name, "kubelet."+node.Name, find("unshare"),
		"--mount", "--propagation=unchanged", "/bin/sh", "-ec", ownDevices, filepath.Join(c.bin["kubernetes"], "kubelet"),
		"--config="+files.kubelet, "--kubeconfig="+c.configs[node.Name], "--root-dir="+node.run+"/kubelet",
		"--cert-dir="+node.run+"/kubelet/pki", "--hostname-override="+node.Name, "--node-ip="+withIPv6(node.IP, node.IPv6))
	node.KubeProxy = c.kubeProxy(node.Name, node.Name)
	return node, errors.Join(node.Containerd.Start(), node.KubeProxy.Start())
}

// waitNode waits until the node is schedulable and Services work on it.
func (c *Cluster) waitNode(ctx context.Context, node *Node) error {
	err := c.until(ctx, node.Name+" is ready", func(ctx context.Context) error {
		object, err := c.Client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range object.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue && len(object.Spec.Taints) == 0 {
				return nil
			}
		}
		return fmt.Errorf("conditions %v, taints %v", object.Status.Conditions, object.Spec.Taints)
	})
	if err != nil {
		return err
	}
	return c.waitServices(ctx, node.Name)
}

// importImage retries until containerd's socket answers.
func (c *Cluster) importImage(ctx context.Context, node *Node, archive string) error {
	return c.until(ctx, "import "+archive, func(ctx context.Context) error {
		_, err := c.Run(ctx, Program{Args: []string{find("ctr"), "--address", node.run + "/containerd.sock",
			"--namespace", "k8s.io", "images", "import", archive}})
		return err
	})
}

// routePods adds routes to each node's pods on every machine.
func (c *Cluster) routePods(ctx context.Context) error {
	for _, at := range append([]string{""}, c.nodeNames()...) {
		var routes []string
		for _, node := range c.nodes {
			if node.Name == at {
				continue
			}
			routes = append(routes, fmt.Sprintf("route add %s via %s", node.Pods, node.IP))
			if haveIPv6() {
				routes = append(routes, fmt.Sprintf("route add %s via %s", node.Pods6, node.IPv6))
			}
		}
		if err := c.script(ctx, at, batch(strings.Join(routes, "\n")+"\n")); err != nil {
			return fmt.Errorf("route pods: %w", err)
		}
	}
	return nil
}

func (c *Cluster) nodeNames() []string {
	var names []string
	for _, node := range c.nodes {
		names = append(names, node.Name)
	}
	return names
}
