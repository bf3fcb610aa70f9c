package cluster

// An Option asks for something that a bare control plane doesn't have.
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
}

func optionsOf(list []Option) options {
	o := options{proxyMode: "nftables"}
	for _, set := range list {
		set(&o)
	}
	return o
}

// IPTables makes kube-proxy program iptables, not nftables.
func IPTables() Option { return func(o *options) { o.proxyMode = "iptables" } }

// Audit makes the API server log every request, for Cluster.Audited.
func Audit() Option { return func(o *options) { o.audit = true } }

// APIServerOnly leaves out everything but etcd and the API server: for tests of what is stored and admitted. With
// KUBEBUILDER_ASSETS set, the programs in that folder are used, and nothing is built.
func APIServerOnly() Option { return func(o *options) { o.apiOnly = true } }

// Nodes adds real nodes: containerd, runc, CNI and a kubelet, in a network namespace each. They need root.
func Nodes(n int, images ...string) Option {
	return func(o *options) { o.nodes = n; o.images = append(o.images, images...) }
}

// Kwok adds the controller that plays nodes and pods, for Cluster.AddFakeNodes.
func Kwok() Option { return func(o *options) { o.kwok = true } }

// WithProvider gives load balancers of no class an address, as a cloud would.
func WithProvider() Option { return func(o *options) { o.provider = true } }

// CertManager adds cert-manager: installed from its own chart where there are nodes to run it, else as processes
// beside the control plane.
func CertManager() Option { return func(o *options) { o.certs = true } }

// Helm makes the real helm ready, for Cluster.Helm.
func Helm() Option { return func(o *options) { o.helm = true } }

// WebhookClient gives the API server a client certificate for the webhook behind a Service, such as web.default.svc. Its common
// name is WebhookClientName, and the cluster's CA signs it.
func WebhookClient(service string) Option { return func(o *options) { o.webhook = service } }
