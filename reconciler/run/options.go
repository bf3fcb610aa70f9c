package run

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/labels"
	kube "k8s.io/apimachinery/pkg/util/validation"

	"nowake.ai/svc-lb-mux/validation"
	"nowake.ai/svc-lb-mux/validation/flags"
)

// Options are the settings of a process, from flags and environment variables. Flags take precedence.
type Options struct {
	// APIPrefix is the prefix of annotations and classes.
	APIPrefix string
	// Namespace is the process's own namespace, which has its lease.
	Namespace string
	// DefaultMuxNamespace is the namespace of muxes whose class has no namespace. If it is empty, Namespace is used.
	DefaultMuxNamespace string
	// ExternalDNS are the prefixes of external-dns's annotations, separated by commas; if empty, its default prefixes.
	ExternalDNS string
	// MuxNamespaces are the namespaces of muxes, separated by commas; all if empty.
	MuxNamespaces string
	// DryRun prints the intended writes, and makes none.
	DryRun flags.Switch
	// LogLevel is debug, info, warn or error. If it is empty, the level is info, or debug if Debug is true.
	LogLevel string
	// Debug is the value of the environment variable SVC_LB_MUX_DEBUG. There is no flag for it.
	Debug string

	// ProbeAddress is the address for probes and metrics.
	ProbeAddress string
	// Kubeconfig is the file with the connection to the API server. If it is empty, the pod's service account is used.
	Kubeconfig string
	// InPod says that the process runs in a pod of a cluster.
	InPod bool

	// LeaderElection may be off if only one process can run.
	LeaderElection                            bool
	LeaseName                                 string
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// Predecessors selects pods in Namespace that must end before this process leads; none if empty.
	Predecessors string

	// Quiet and Longest set the time between passes over a mux in a burst of changes.
	Quiet, Longest time.Duration
	// PortChangesBurst and PortChangesPace limit how often the channels of one namespace may change their ports on one
	// mux.
	PortChangesBurst int
	PortChangesPace  time.Duration
	// Writes limits concurrent writes: of channels of one mux, and of backends in one namespace.
	Writes int
	// GatewayAPIAllocator gives routes of the Gateway API numbers on Gateways.
	GatewayAPIAllocator bool
	// GatewayAPIImplementation serves Gateways of our GatewayClasses.
	GatewayAPIImplementation bool

	AdmissionOptions
	ConsoleOptions
	OnceOptions
}

// DefaultOptions returns the defaults, with the values of environment variables.
func DefaultOptions(getenv func(string) string) Options {
	return Options{
		APIPrefix:           cmp.Or(getenv("API_PREFIX"), validation.DefaultPrefix),
		Namespace:           cmp.Or(getenv("NAMESPACE"), "default"),
		DefaultMuxNamespace: getenv("DEFAULT_MUX_NAMESPACE"),
		ExternalDNS:         getenv("EXTERNAL_DNS_PREFIXES"),
		DryRun:              flags.Switch(getenv("DRYRUN_MODE")),
		Debug:               getenv("SVC_LB_MUX_DEBUG"),
		ProbeAddress:        ":8081",
		Kubeconfig:          getenv("KUBECONFIG"),
		InPod:               getenv("KUBERNETES_SERVICE_HOST") != "",
		LeaderElection:      true,
		LeaseName:           "svc-lb-mux-reconciler",
		LeaseDuration:       5 * time.Second,
		RenewDeadline:       4 * time.Second,
		RetryPeriod:         500 * time.Millisecond,
		Quiet:               50 * time.Millisecond,
		Longest:             time.Second,
		PortChangesBurst:    30,
		PortChangesPace:     10 * time.Second,
		Writes:              16,
		AdmissionOptions:    defaultAdmissionOptions(),
		ConsoleOptions:      defaultConsoleOptions(getenv),
		OnceOptions:         defaultOnceOptions(),
	}
}

// AddFlags defines the flags. Their defaults are the current values.
func (o *Options) AddFlags(set *flag.FlagSet) {
	text := func(to *string, name, usage string) { set.StringVar(to, name, *to, usage) }
	span := func(to *time.Duration, name, usage string) { set.DurationVar(to, name, *to, usage) }

	text(&o.APIPrefix, "api-prefix", "`prefix` of annotations and classes (API_PREFIX)")
	text(&o.Namespace, "namespace", "the process's own `namespace`, which has its lease (NAMESPACE)")
	text(&o.DefaultMuxNamespace, "default-mux-namespace",
		"`namespace` of muxes whose class has no namespace (DEFAULT_MUX_NAMESPACE, else NAMESPACE)")
	text(&o.ExternalDNS, "external-dns-prefixes", flags.ExternalDNSUsage)
	text(&o.MuxNamespaces, "mux-namespaces", "`namespaces` of muxes, separated by commas; all if empty")
	set.Var(&o.DryRun, "dry-run", "print the intended writes, and make none: true or false (DRYRUN_MODE)")
	text(&o.LogLevel, "log-level", "debug, info, warn or error; info unless SVC_LB_MUX_DEBUG is true")
	text(&o.ProbeAddress, "probe-address", "`host:port` to serve /healthz, /readyz and /metrics on, over plain HTTP")
	text(&o.Kubeconfig, "kubeconfig",
		"`file` with the connection to the API server (KUBECONFIG); if empty, the pod's service account is used")
	set.BoolVar(&o.LeaderElection, "leader-election", o.LeaderElection, "write only while this process is the leader")
	text(&o.LeaseName, "lease-name", "`name` of the lease that leaders hold")
	span(&o.LeaseDuration, "lease-duration",
		"`time` after its last renewal at which a lease expires and another process may lead")
	span(&o.RenewDeadline, "renew-deadline", "`time` for which the leader retries to renew its lease before it steps down")
	span(&o.RetryPeriod, "retry-period", "`time` between two tries to get or renew the lease")
	text(&o.Predecessors, "predecessors",
		"label `selector` of pods in the process's own namespace that must end before this process leads; none if empty")
	span(&o.Quiet, "quiet", "`time` without changes that ends a burst: then the mux is written")
	span(&o.Longest, "longest", "`time` after which the mux is written even if changes keep coming")
	set.IntVar(&o.PortChangesBurst, "port-changes-burst", o.PortChangesBurst,
		"`number` of passes in a row that may change ports of one namespace's channels on one mux")
	span(&o.PortChangesPace, "port-changes-pace", "`time` after which one more such pass is allowed; 0 means no limit")
	set.IntVar(&o.Writes, "writes", o.Writes,
		"`number` of concurrent writes: of the channels of one mux, and of the backends of one namespace")
	set.BoolVar(&o.GatewayAPIImplementation, "gateway-api-implementation", o.GatewayAPIImplementation,
		"serve Gateways of the Gateway API whose GatewayClass names this controller")
	set.BoolVar(&o.GatewayAPIAllocator, "gateway-api-allocator", o.GatewayAPIAllocator,
		"give TCPRoutes and UDPRoutes of the Gateway API numbers on Gateways with a port-range")
	o.AdmissionOptions.addFlags(set)
	o.ConsoleOptions.addFlags(set)
	o.OnceOptions.addFlags(set)
}

// Check returns all mistakes, each with its flag, its value and how to correct it.
func (o *Options) Check() error {
	_, levelErr := o.level()
	_, dryErr := o.DryRun.On("--dry-run (DRYRUN_MODE)")
	return errors.Join(flags.Prefix("--api-prefix (API_PREFIX)", o.APIPrefix), o.checkNamespaces(),
		flags.ExternalDNS("--external-dns-prefixes (EXTERNAL_DNS_PREFIXES)", o.ExternalDNS), levelErr, dryErr,
		flags.Address("--probe-address", o.ProbeAddress, "8081"), o.checkTimes(), o.checkNumbers(), o.checkLease(),
		o.checkPredecessors(),
		o.checkKubeconfig(), o.AdmissionOptions.check(), o.ConsoleOptions.check(), o.checkOnce())
}

func (o *Options) checkKubeconfig() error {
	if o.Kubeconfig == "" && !o.InPod {
		return errors.New("--kubeconfig (KUBECONFIG) is empty, and this process isn't in a pod of a cluster: name the file " +
			"with the connection to the API server")
	}
	return nil
}

func (o *Options) language() (validation.Language, error) {
	return flags.Language(o.APIPrefix, cmp.Or(o.DefaultMuxNamespace, o.Namespace), o.ExternalDNS)
}

func (o *Options) checkNamespaces() error {
	var errs []error
	check := func(what, namespace string) { errs = append(errs, flags.Namespace(what, namespace)) }
	check("--namespace (NAMESPACE)", o.Namespace)
	if o.DefaultMuxNamespace != "" {
		check("--default-mux-namespace (DEFAULT_MUX_NAMESPACE)", o.DefaultMuxNamespace)
	}
	for _, namespace := range o.muxNamespaces() {
		check("--mux-namespaces", namespace)
	}
	return errors.Join(errs...)
}

// muxNamespaces returns the list of namespaces; empty for all.
func (o *Options) muxNamespaces() []string { return flags.List(o.MuxNamespaces) }

// name identifies this reconciler in the cluster, since two reconcilers never share a lease.
func (o *Options) name() string { return o.Namespace + "/" + o.LeaseName }

func (o *Options) level() (zapcore.Level, error) {
	word, err := flags.Level(o.LogLevel, o.Debug)
	level, _ := zapcore.ParseLevel(word)
	return level, err
}

// maxLease keeps the lease duration far below the limit of a lease's field.
const maxLease = 24 * time.Hour

func (o *Options) checkTimes() error {
	var errs []error
	for _, span := range []struct {
		name        string
		value, most time.Duration
	}{
		{"--retry-period", o.RetryPeriod, o.RenewDeadline * 5 / 6}, // client-go needs that much room for jitter
		{"--renew-deadline", o.RenewDeadline, o.LeaseDuration},
		{"--quiet", o.Quiet, o.Longest},
	} {
		if span.value <= 0 || span.value >= span.most {
			errs = append(errs, fmt.Errorf("%s %s must be more than 0 and less than %s: quiet < longest, and retry period "+
				"< 5/6 of the renew deadline < lease duration", span.name, span.value, span.most))
		}
	}
	if o.LeaseDuration < time.Second || o.LeaseDuration > maxLease {
		errs = append(errs, fmt.Errorf("--lease-duration %s: write 1s to %s: leases count in seconds, and after a leader "+
			"dies no process leads for this time", o.LeaseDuration, maxLease))
	}
	return errors.Join(errs...)
}

// Limits of the budget of port changes. Beyond these, a channel would wait for hours, or the budget would limit
// nothing.
const (
	maxPortChanges = 10_000
	maxPace        = 10 * time.Minute
)

func (o *Options) checkNumbers() error {
	var errs []error
	if o.Writes < 1 {
		errs = append(errs, fmt.Errorf("--writes %d: write 1 or more", o.Writes))
	}
	if o.PortChangesBurst < 1 || o.PortChangesBurst > maxPortChanges {
		errs = append(errs, fmt.Errorf("--port-changes-burst %d: write 1 to %d", o.PortChangesBurst, maxPortChanges))
	}
	if o.PortChangesPace < 0 || o.PortChangesPace > maxPace {
		errs = append(errs, fmt.Errorf("--port-changes-pace %s: write 0 (no limit) to %s", o.PortChangesPace, maxPace))
	}
	return errors.Join(errs...)
}

func (o *Options) checkLease() error {
	if o.LeaseName == "" {
		return errors.New("--lease-name is empty: name the lease that leaders hold")
	}
	if wrong := kube.IsDNS1123Subdomain(o.LeaseName); len(wrong) > 0 {
		return fmt.Errorf("--lease-name %q can't be a lease's name: %s", o.LeaseName, strings.Join(wrong, "; "))
	}
	return nil
}

func (o *Options) checkPredecessors() error {
	if _, err := labels.Parse(o.Predecessors); err != nil {
		return fmt.Errorf("--predecessors %q is no label selector: %w: write one such as app=web,version!=2", o.Predecessors,
			err)
	}
	return nil
}
