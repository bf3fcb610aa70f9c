package cluster

import (
	"fmt"
	"path/filepath"

	"nowake.ai/svc-lb-mux/test/cluster/host"
)

// ControlPlaneNode is the Node object of the control plane's machine: kube-proxy needs one.
const ControlPlaneNode = "control-plane"

// identities are the users of a cluster. Each component has its own user, as the built-in roles require.
func identities() []identity {
	return []identity{
		// As a client of the kubelets, the API server needs rights, too: the kubelets ask it for authorization.
		{file: "kube-apiserver", name: "kube-apiserver", groups: []string{"system:masters"}, hosts: []string{
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost", "127.0.0.1", "::1",
			controlPlaneIP, controlPlane6, apiServiceIP, "fd00:96::1"}},
		{file: "admin", name: "admin", groups: []string{"system:masters"}},
		{file: "kube-controller-manager", name: "system:kube-controller-manager"},
		{file: "kube-scheduler", name: "system:kube-scheduler"},
		{file: "kube-proxy", name: "system:kube-proxy"},
	}
}

// component prepares a component. Its program and its log file have the same name.
func (c *Cluster) component(name string, args ...string) *Component {
	return c.componentIn("", name, filepath.Join(c.bin["kubernetes"], name), args...)
}

func (c *Cluster) componentIn(net, name, program string, args ...string) *Component {
	p := &Component{
		Name: name, host: c.Host, log: filepath.Join(c.Host.Dir, "logs", name+".log"),
		command: host.Command{Args: append([]string{program}, args...), Net: net,
			Env: append(host.Environment(), c.options.goSettings()...)},
	}
	c.components = append(c.components, p)
	return p
}

func (c *Cluster) etcd() *Component {
	return c.component("etcd",
		"--data-dir=/run/etcd", "--unsafe-no-fsync", // data in memory ends with the cluster, so fsync is useless
		"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
		"--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster=default=http://127.0.0.1:2380", "--log-level=warn")
}

func (c *Cluster) apiServer() *Component {
	args := []string{
		"--etcd-servers=http://127.0.0.1:2379",
		"--bind-address=" + withoutIPv6("0.0.0.0", "::"), fmt.Sprintf("--secure-port=%d", apiPort),
		"--advertise-address=" + controlPlaneIP, // an EndpointSlice may not have a loopback address
		"--client-ca-file=" + c.pki.crt("ca"),
		"--tls-cert-file=" + c.pki.crt("kube-apiserver"), "--tls-private-key-file=" + c.pki.pem("kube-apiserver"),
		"--kubelet-certificate-authority=" + c.pki.crt("ca"), "--kubelet-preferred-address-types=InternalIP",
		"--kubelet-client-certificate=" + c.pki.crt("kube-apiserver"),
		"--kubelet-client-key=" + c.pki.pem("kube-apiserver"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.pki.crt("service-accounts"),
		"--service-account-signing-key-file=" + c.pki.pem("service-accounts"),
		"--service-cluster-ip-range=" + withIPv6(serviceCIDR, serviceCIDR6),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged",
	}
	if c.options.audit {
		args = append(args, "--audit-policy-file="+c.auditPolicy(), "--audit-log-path="+c.auditLog(),
			"--audit-log-mode=blocking-strict", "--audit-log-maxsize=100000") // keep all events in one file
	}
	if n := c.options.nodePorts; n > 0 {
		args = append(args, fmt.Sprintf("--service-node-port-range=30000-%d", 30000+n-1))
	}
	if c.options.webhook != "" {
		args = append(args, "--admission-control-config-file="+c.admissionConfig())
	}
	return c.component("kube-apiserver", args...)
}

func (c *Cluster) controllerManager() *Component {
	return c.component("kube-controller-manager",
		"--kubeconfig="+c.configs["kube-controller-manager"], "--leader-elect=false",
		"--use-service-account-credentials", "--service-account-private-key-file="+c.pki.pem("service-accounts"),
		"--root-ca-file="+c.pki.crt("ca"),
		"--cluster-signing-cert-file="+c.pki.crt("ca"), "--cluster-signing-key-file="+c.pki.pem("ca"),
		"--kube-api-qps=500", "--kube-api-burst=1000", // the defaults cost 5 s of the start
		noMetrics,
	)
}

func (c *Cluster) scheduler() *Component {
	return c.component("kube-scheduler", "--kubeconfig="+c.configs["kube-scheduler"], "--leader-elect=false",
		"--kube-api-qps=500", "--kube-api-burst=1000", noMetrics)
}

// noMetrics closes the port of a component's metrics. For that port, each start would make a key and a certificate.
const noMetrics = "--secure-port=0"

// kubeProxy programs Services for a machine: the control plane or a node.
func (c *Cluster) kubeProxy(net, node string) *Component {
	name := "kube-proxy"
	if net != "" {
		name += "." + net
	}
	return c.componentIn(net, name, filepath.Join(c.bin["kubernetes"], "kube-proxy"),
		"--kubeconfig="+c.configs["kube-proxy"], "--hostname-override="+node,
		"--proxy-mode="+c.options.proxyMode, "--cluster-cidr="+withIPv6(podCIDR, podCIDR6),
		// A namespace can't change the kernel's global connection tracking.
		"--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0")
}

// withoutIPv6 returns four if the kernel has no IPv6. Otherwise it returns six, which then means both families.
func withoutIPv6(four, six string) string {
	if haveIPv6() {
		return six
	}
	return four
}
