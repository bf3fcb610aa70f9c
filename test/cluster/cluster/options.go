package cluster

// Option adds something to a bare control plane.
type Option func(*options)

type options struct {
	proxyMode string
	audit     bool
	apiOnly   bool
	nodes     int
	images    []string
	kwok      bool
	provider  bool
	certs     bool
	helm      bool
	webhook   string
	nodePorts int
	// crowded is set if other clusters run on the machine at the same time, as for tests.
	crowded bool
}

// goSettings are settings of the components' Go runtimes. A rare garbage collection costs memory, which is cheaper here
// than processor time. Beside other clusters, a second thread rarely finds a free processor. With one thread, a start
// takes 30 % less processor time, and a cluster at rest 15 %.
func (o options) goSettings() []string {
	if o.crowded {
		return []string{"GOGC=400", "GOMAXPROCS=1"}
	}
	return []string{"GOGC=400"}
}

func optionsOf(list []Option) options {
	o := options{proxyMode: "nftables"}
	for _, set := range list {
		set(&o)
	}
	return o
}

// IPTables lets kube-proxy use iptables instead of nftables.
func IPTables() Option { return func(o *options) { o.proxyMode = "iptables" } }

// Audit lets the API server log every request, for Cluster.Audited.
func Audit() Option { return func(o *options) { o.audit = true } }

// APIServerOnly starts etcd and the API server, but no controller and no kube-proxy. If KUBEBUILDER_ASSETS is
// set, the programs in that folder are used, and nothing is built.
func APIServerOnly() Option { return func(o *options) { o.apiOnly = true } }

// Nodes adds real nodes: containerd, runc, CNI and a kubelet, each in its own network namespace. They need root.
func Nodes(n int, images ...string) Option {
	return func(o *options) { o.nodes = n; o.images = append(o.images, images...) }
}

// Kwok adds the controller that simulates nodes and pods, for Cluster.AddFakeNodes.
func Kwok() Option { return func(o *options) { o.kwok = true } }

// WithProvider gives addresses to load balancers without a class, as a cloud does.
func WithProvider() Option { return func(o *options) { o.provider = true } }

// CertManager adds cert-manager. On a cluster with nodes its own chart installs it; otherwise it runs as processes
// beside the control plane.
func CertManager() Option { return func(o *options) { o.certs = true } }

// Helm adds the real helm, for Cluster.Helm.
func Helm() Option { return func(o *options) { o.helm = true } }

// NodePorts limits the cluster to a number of node ports, from 30000. A test that uses up all of them is faster with
// few: the API server writes to etcd once for each.
func NodePorts(n int) Option { return func(o *options) { o.nodePorts = n } }

// WebhookClient gives the API server a client certificate for the webhook behind a Service, such as web.default.svc.
// Its common name is WebhookClientName, and the cluster's CA signs it.
func WebhookClient(service string) Option { return func(o *options) { o.webhook = service } }
