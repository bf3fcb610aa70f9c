package cluster

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"
)

// Every cluster has the same addresses: each has its own network, and no packet leaves it.
const (
	controlPlaneIP = "172.31.0.1"
	controlPlane6  = "fd00:31::1"
	gatewayIP      = "198.51.100.1"
	gateway6       = "2001:db8:51::1"
	outsideIP      = "198.51.100.2"
	outside6       = "2001:db8:51::2"
	serviceCIDR    = "10.96.0.0/16"
	serviceCIDR6   = "fd00:96::/112"
	apiServiceIP   = "10.96.0.1"
	podCIDR        = "10.244.0.0/16"
	podCIDR6       = "fd00:244::/48"
	poolIPv4       = "203.0.113.0/24"
	poolIPv6       = "2001:db8:203::/120"
	apiPort        = 6443
)

// outsideNet is the network namespace of clients outside of the cluster.
const outsideNet = "outside"

// PoolIPv4 and PoolIPv6 are the addresses that a provider may give to load balancers. kube-proxy serves them, and
// clients outside have a route to them.
func PoolIPv4() netip.Prefix { return netip.MustParsePrefix(poolIPv4) }

// PoolIPv6 is the pool of the other family.
func PoolIPv6() netip.Prefix { return netip.MustParsePrefix(poolIPv6) }

// haveIPv6 returns whether this kernel supports IPv6. If it does, every cluster is dual-stack.
func haveIPv6() bool {
	_, err := os.Stat("/proc/sys/net/ipv6")
	return err == nil
}

// withIPv6 joins the values of the available families, as Kubernetes' dual-stack flags require.
func withIPv6(four, six string) string {
	if !haveIPv6() {
		return four
	}
	return four + "," + six
}

// layCables makes the control plane's network and its link to the outside, as a script for `ip -batch`. Addresses are
// usable at once, without duplicate address detection (nodad). Service addresses need a route to any device: the kernel
// looks for a route before kube-proxy's rules translate a packet.
func layCables() string {
	script := []string{
		"link add lan0 type bridge",
		"link set lan0 up",
		"addr add " + controlPlaneIP + "/24 dev lan0",
		"netns add " + outsideNet,
		"link add wan0 type veth peer name eth0 netns " + outsideNet,
		"link set wan0 up",
		"addr add " + gatewayIP + "/24 dev wan0",
		"route add " + serviceCIDR + " dev lan0",
		"route add " + poolIPv4 + " dev lan0",
	}
	if haveIPv6() {
		script = append(script,
			"addr add "+controlPlane6+"/64 dev lan0 nodad",
			"addr add "+gateway6+"/64 dev wan0 nodad",
			"route add "+serviceCIDR6+" dev lan0",
			"route add "+poolIPv6+" dev lan0")
	}
	return strings.Join(script, "\n") + "\n"
}

// layOutside configures the outside's end: the control plane is its gateway.
func layOutside() string {
	script := []string{
		"link set lo up",
		"link set eth0 up",
		"addr add " + outsideIP + "/24 dev eth0",
		"route add default via " + gatewayIP,
	}
	if haveIPv6() {
		script = append(script,
			"addr add "+outside6+"/64 dev eth0 nodad",
			"route add ::/0 via "+gateway6)
	}
	return strings.Join(script, "\n") + "\n"
}

// nodeNetwork holds the addresses of node number i (from 1), and the addresses of its pods.
type nodeNetwork struct {
	Name, IP, IPv6 string
	Pods, Pods6    string
}

func networkOf(i int) nodeNetwork {
	return nodeNetwork{
		Name:  fmt.Sprintf("node-%d", i),
		IP:    fmt.Sprintf("172.31.0.%d", 10+i),
		IPv6:  fmt.Sprintf("fd00:31::%x", 0x10+i),
		Pods:  fmt.Sprintf("10.244.%d.0/24", i),
		Pods6: fmt.Sprintf("fd00:244:0:%x::/64", i),
	}
}

// kernelSettings enable forwarding in a namespace, and disable automatic IPv6 routes. Packets that a bridge passes
// between nodes must skip the control plane's kube-proxy rules, which some kernels apply by default.
func kernelSettings() string {
	script := "echo 1 > /proc/sys/net/ipv4/ip_forward\n" +
		"for f in /proc/sys/net/bridge/bridge-nf-call-ip*tables; do [ ! -e $f ] || echo 0 > $f; done\n"
	if haveIPv6() {
		script += "echo 1 > /proc/sys/net/ipv6/conf/all/forwarding\n" +
			"echo 0 > /proc/sys/net/ipv6/conf/all/accept_dad\n"
	}
	return script
}

// batch returns a shell script that passes another script to `ip -batch`.
func batch(script string) string { return "ip -batch - <<'END'\n" + script + "END\n" }

// plugIn connects the control plane with the outside.
func (c *Cluster) plugIn(ctx context.Context) error {
	if err := c.script(ctx, "", kernelSettings()+batch(layCables())); err != nil {
		return fmt.Errorf("make the cluster's network: %w", err)
	}
	if err := c.script(ctx, outsideNet, batch(layOutside())); err != nil {
		return fmt.Errorf("make the outside world: %w", err)
	}
	return nil
}

// layCable connects a node to the control plane's bridge.
func (n nodeNetwork) layCable() string {
	return fmt.Sprintf("netns add %[1]s\nlink add %[1]s type veth peer name eth0 netns %[1]s\n"+
		"link set %[1]s master lan0\nlink set %[1]s up\n", n.Name)
}

// layOwn configures the node's end: the control plane is its gateway.
func (n nodeNetwork) layOwn() string {
	script := "link set lo up\nlink set eth0 up\n" +
		"addr add " + n.IP + "/24 dev eth0\nroute add default via " + controlPlaneIP + "\n"
	if haveIPv6() {
		script += "addr add " + n.IPv6 + "/64 dev eth0 nodad\nroute add ::/0 via " + controlPlane6 + "\n"
	}
	return script
}
