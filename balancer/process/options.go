package process

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	kube "k8s.io/apimachinery/pkg/util/validation"

	"nowake.ai/svc-lb-mux/balancer/announce"
	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/keepalived"
	"nowake.ai/svc-lb-mux/balancer/want"
	"nowake.ai/svc-lb-mux/validation"
	"nowake.ai/svc-lb-mux/validation/flags"
)

// Options are the settings of an agent, from flags and environment variables. Flags take precedence.
type Options struct {
	// Name is the gateway's name, unique in the cluster.
	Name string
	Pool string
	// Interface is where the muxes' addresses are. If it is empty, the interface of the default route is used.
	Interface string
	StateDir  string
	// BackendNetworks, Sources, Peers and Labels are separated by commas.
	BackendNetworks string
	Sources         string
	Peers           string
	Labels          string
	Node            string
	Zone            string
	Capacity        int
	ReturnPath      string
	Announce        string
	// KeepalivedConfig and KeepalivedPID are keepalived's files, for the mode in which keepalived announces.
	KeepalivedConfig string
	KeepalivedPID    string
	Unicast          bool
	Interval         time.Duration
	// ProbeBackends is the time between two probes of a backend; none if 0.
	ProbeBackends time.Duration
	// Goodbye removes everything from kernel and disk when the process ends.
	Goodbye bool

	APIPrefix string
	// Namespace is the release's own, which has claims and Leases.
	Namespace string
	// MuxNamespaces are the namespaces of muxes, separated by commas; all if empty.
	MuxNamespaces string
	Kubeconfig    string
	InPod         bool
	ProbeAddress  string
	LogLevel      string
	Debug         string
}

// DefaultOptions returns the defaults, with the values of environment variables.
func DefaultOptions(getenv func(string) string) Options {
	return Options{
		Name:             cmp.Or(getenv("GATEWAY_NAME"), getenv("NODE_NAME")),
		Pool:             "default",
		StateDir:         "/var/lib/svc-lb-mux-gateway",
		Node:             getenv("NODE_NAME"),
		Capacity:         1,
		ReturnPath:       string(want.ViaNode),
		Announce:         string(announce.VRRP),
		KeepalivedConfig: keepalived.DefaultConfig, KeepalivedPID: keepalived.DefaultPID,
		Interval:     claims.DefaultInterval,
		APIPrefix:    cmp.Or(getenv("API_PREFIX"), validation.DefaultPrefix),
		Namespace:    cmp.Or(getenv("NAMESPACE"), "default"),
		Kubeconfig:   getenv("KUBECONFIG"),
		InPod:        getenv("KUBERNETES_SERVICE_HOST") != "",
		ProbeAddress: ":8082",
		Debug:        getenv("SVC_LB_MUX_DEBUG"),
	}
}

// AddFlags defines the flags. Their defaults are the current values.
func (o *Options) AddFlags(set *flag.FlagSet) {
	text := func(to *string, name, usage string) { set.StringVar(to, name, *to, usage) }
	text(&o.Name, "name", "`name` of this gateway, unique in the cluster (GATEWAY_NAME, else NODE_NAME)")
	text(&o.Pool, "pool", "`name` of the pool that this gateway belongs to")
	text(&o.Interface, "interface", "`name` of the network interface for muxes' addresses; if empty, the one of the "+
		"default route")
	text(&o.StateDir, "state-dir", "`directory` for what a restart without an API server needs; it must survive a reboot")
	text(&o.BackendNetworks, "backend-networks",
		"`networks` that backends may be in, separated by commas; every network if empty")
	text(&o.Sources, "source-addresses",
		"`addresses` that backends see with the return path node, at most one of a family; if empty, that of the interface "+
			"through which packets leave")
	text(&o.Peers, "peer-addresses", "`addresses` where other gateways reach this one, separated by commas; if empty, "+
		"the interface's")
	text(&o.Labels, "labels", "`labels` of this gateway's Lease, such as rack=a,size=large: pools select gateways by them")
	text(&o.Node, "node",
		"`name` of the cluster's Node that this machine is; empty for a machine beside the cluster (NODE_NAME)")
	text(&o.Zone, "zone", "`name` of the failure domain")
	set.IntVar(&o.Capacity, "capacity", o.Capacity, "share of the load relative to other gateways, "+
		"at most the pool's maxCapacity; with 0 this gateway takes no seat")
	text(&o.ReturnPath, "return-path", "how replies find the gateway: node, routed or gateway")
	text(&o.Announce, "announce", "how packets find the gateway: vrrp; keepalived, which must run on this machine; or "+
		"none where routes of the network bring them")
	text(&o.KeepalivedConfig, "keepalived-config", "`file` that the agent writes for keepalived: include it in "+
		"keepalived.conf")
	text(&o.KeepalivedPID, "keepalived-pid", "`file` with keepalived's process ID")
	set.BoolVar(&o.Unicast, "vrrp-unicast", o.Unicast,
		"send adverts to the other gateways' addresses instead of the multicast group")
	set.DurationVar(&o.Interval, "advert-interval", o.Interval,
		"`time` between two adverts, as the pool's advertInterval says. It counts until the pool's claims name it")
	set.DurationVar(&o.ProbeBackends, "probe-backends", o.ProbeBackends,
		"`time` between two TCP connections to each backend that test whether it answers; none if 0. "+
			"Equal on all gateways of a pool")
	set.BoolVar(&o.Goodbye, "goodbye", o.Goodbye, "at the end, remove tables, addresses and state of this gateway")
	text(&o.APIPrefix, "api-prefix", "`prefix` of annotations and classes (API_PREFIX)")
	text(&o.Namespace, "namespace",
		"`namespace` of the release, which has the pools' claims and the gateways' Leases (NAMESPACE)")
	text(&o.MuxNamespaces, "mux-namespaces", "`namespaces` of muxes, separated by commas; all if empty")
	text(&o.Kubeconfig, "kubeconfig",
		"`file` with the connection to the API server (KUBECONFIG); if empty, the pod's service account is used")
	text(&o.ProbeAddress, "probe-address", "`host:port` to serve /healthz, /readyz and /metrics on, over plain HTTP; "+
		"none if empty")
	text(&o.LogLevel, "log-level", "debug, info, warn or error; info unless SVC_LB_MUX_DEBUG is true")
}

// Check returns all mistakes, each with its flag, its value and how to correct it.
func (o *Options) Check() error {
	_, levelErr := flags.Level(o.LogLevel, o.Debug)
	_, networksErr := o.networks()
	_, sourcesErr := addresses("--source-addresses", o.Sources)
	_, peersErr := addresses("--peer-addresses", o.Peers)
	_, labelsErr := o.labels()
	all := []error{flags.Prefix("--api-prefix (API_PREFIX)", o.APIPrefix),
		flags.Namespace("--namespace (NAMESPACE)", o.Namespace), levelErr,
		networksErr, sourcesErr, peersErr, labelsErr, o.checkNames(), o.checkChoices()}
	if o.ProbeAddress != "" {
		all = append(all, flags.Address("--probe-address", o.ProbeAddress, "8082"))
	}
	for _, namespace := range flags.List(o.MuxNamespaces) {
		all = append(all, flags.Namespace("--mux-namespaces", namespace))
	}
	return errors.Join(all...)
}

func (o *Options) checkNames() error {
	var wrong []error
	if len(kube.IsDNS1123Subdomain(o.Name)) > 0 {
		wrong = append(wrong, fmt.Errorf("--name (GATEWAY_NAME, NODE_NAME) %q: write lower-case letters, digits and "+
			"dashes, such as gateway-1", o.Name))
	}
	if len(kube.IsDNS1123Label(o.Pool)) > 0 {
		wrong = append(wrong, fmt.Errorf("--pool %q: write lower-case letters, digits and dashes, such as default", o.Pool))
	}
	if !filepath.IsAbs(o.StateDir) {
		wrong = append(wrong,
			fmt.Errorf("--state-dir %q: write an absolute path, such as /var/lib/svc-lb-mux-gateway", o.StateDir))
	}
	if o.Kubeconfig == "" && !o.InPod {
		wrong = append(wrong, errors.New("--kubeconfig (KUBECONFIG) is empty, and this process isn't in a pod of a "+
			"cluster: name the file with the connection to the API server"))
	}
	return errors.Join(wrong...)
}

func (o *Options) checkChoices() error {
	var wrong []error
	paths := []want.ReturnPath{want.ViaNode, want.ViaRouted, want.ViaGateway}
	if !slices.Contains(paths, want.ReturnPath(o.ReturnPath)) {
		wrong = append(wrong, fmt.Errorf("--return-path %q: write node, routed or gateway", o.ReturnPath))
	}
	if o.ReturnPath == string(want.ViaRouted) && o.BackendNetworks == "" {
		wrong = append(wrong, errors.New("--return-path=routed needs --backend-networks: UDP packets from a backend's "+
			"address and port count as replies, and a tenant could make an endpoint with the address of somebody else's "+
			"client: name the networks of pods, in which no clients are, such as 10.244.0.0/16"))
	}
	if !slices.Contains([]announce.Mode{announce.VRRP, keepalived.Mode, announce.None}, announce.Mode(o.Announce)) {
		wrong = append(wrong, fmt.Errorf("--announce %q: write vrrp, keepalived or none", o.Announce))
	}
	for name, file := range map[string]string{"--keepalived-config": o.KeepalivedConfig,
		"--keepalived-pid": o.KeepalivedPID} {
		if o.Announce == string(keepalived.Mode) && !filepath.IsAbs(file) {
			wrong = append(wrong, fmt.Errorf("%s %q: write an absolute path", name, file))
		}
	}
	if !claims.IsInterval(o.Interval) {
		wrong = append(wrong,
			fmt.Errorf("--advert-interval %s: write %s to %s, in steps of %s", o.Interval, claims.IntervalStep,
				claims.LongestInterval, claims.IntervalStep))
	}
	if o.ProbeBackends != 0 && (o.ProbeBackends < time.Second || o.ProbeBackends > time.Hour) {
		wrong = append(wrong, fmt.Errorf("--probe-backends %s: write 1s to 1h, or 0 for no probes", o.ProbeBackends))
	}
	if o.Capacity < 0 {
		wrong = append(wrong, fmt.Errorf("--capacity %d: write 0 or more", o.Capacity))
	}
	return errors.Join(wrong...)
}

func (o *Options) networks() ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range flags.List(o.BackendNetworks) {
		network, err := netip.ParsePrefix(text)
		if err != nil || network != network.Masked() || network.Addr().Is4In6() {
			return nil, fmt.Errorf("--backend-networks: %q isn't a network such as 10.0.0.0/8", text)
		}
		all = append(all, network)
	}
	return all, nil
}

func addresses(name, text string) ([]netip.Addr, error) {
	var all []netip.Addr
	for _, part := range flags.List(text) {
		address, err := netip.ParseAddr(part)
		if err != nil || address.Zone() != "" || address.Is4In6() {
			return nil, fmt.Errorf("%s: %q isn't an IP address such as 192.0.2.1", name, part)
		}
		all = append(all, address)
	}
	return all, nil
}

func (o *Options) labels() (map[string]string, error) {
	all := map[string]string{}
	for _, text := range flags.List(o.Labels) {
		key, value, both := strings.Cut(text, "=")
		if !both || len(kube.IsQualifiedName(key)) > 0 || len(kube.IsValidLabelValue(value)) > 0 {
			return nil, fmt.Errorf("--labels: %q isn't a label such as rack=a", text)
		}
		all[key] = value
	}
	return all, nil
}
