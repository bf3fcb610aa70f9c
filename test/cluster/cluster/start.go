package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startLimit is many times the duration of a start on a busy machine, not counting builds. Without it, a stuck start
// would end with the whole test binary and a dump of all goroutines.
const startLimit = 5 * time.Minute

// step is a named step of a start. The name shows where a start is stuck.
type step struct {
	name string
	take func(context.Context) error
}

func (c *Cluster) take(ctx context.Context, limit time.Duration, steps []step) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("a cluster must start within %s", limit))
	defer cancel()
	// Background work waits for the cluster, too: it must end when the start reaches its limit.
	stop := context.AfterFunc(ctx, c.cancel)
	defer stop()
	for _, step := range steps {
		if err := step.take(ctx); err != nil {
			return fmt.Errorf("start a cluster: %s: %w", step.name, err)
		}
	}
	return nil
}

// startAPIServer starts the API server and its etcd, and waits until it serves.
func (c *Cluster) startAPIServer(ctx context.Context) error {
	for _, p := range []*Component{c.etcd(), c.apiServer()} {
		if err := p.Start(); err != nil {
			return err
		}
	}
	return c.WaitReady(ctx)
}

// startControllers starts the rest of the control plane, and waits until each component has done some work.
func (c *Cluster) startControllers(ctx context.Context) error {
	if err := c.addControlPlaneNode(ctx); err != nil {
		return err
	}
	for _, p := range []*Component{c.controllerManager(), c.scheduler(), c.kubeProxy("", ControlPlaneNode)} {
		if err := p.Start(); err != nil {
			return err
		}
	}
	return errors.Join(
		c.until(ctx, "the controllers made the first service account", func(ctx context.Context) error {
			_, err := c.Client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
			return err
		}),
		c.waitServices(ctx, ""))
}

// WaitReady waits until the API server reports that it is ready, for example after a restart.
func (c *Cluster) WaitReady(ctx context.Context) error {
	return c.until(ctx, "the API server is ready", func(ctx context.Context) error {
		return c.Client.CoreV1().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

// waitServices waits until kube-proxy has programmed a namespace. Its health check succeeds earlier.
func (c *Cluster) waitServices(ctx context.Context, namespace string) error {
	address := net.JoinHostPort(apiServiceIP, "443")
	return c.until(ctx, "kube-proxy serves "+address, func(ctx context.Context) error {
		conn, err := c.Host.Dial(ctx, namespace, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// addControlPlaneNode creates the Node that kube-proxy needs. No pod is scheduled there.
func (c *Cluster) addControlPlaneNode(ctx context.Context) error {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: ControlPlaneNode, Labels: map[string]string{
			"node-role.kubernetes.io/control-plane":                   "",
			"node.kubernetes.io/exclude-from-external-load-balancers": "",
		}},
		Spec: corev1.NodeSpec{Unschedulable: true, Taints: []corev1.Taint{
			{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: controlPlaneIP},
			{Type: corev1.NodeHostName, Address: ControlPlaneNode}}},
	}
	if haveIPv6() {
		node.Status.Addresses = append(node.Status.Addresses,
			corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: controlPlane6})
	}
	if _, err := c.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the control plane's Node: %w", err)
	}
	return nil
}
