package process

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap/zapcore"
	kube "k8s.io/apimachinery/pkg/util/validation"

	"nowake.ai/svc-lb-mux/reconciler/addresses/pool/config"
	"nowake.ai/svc-lb-mux/validation"
	"nowake.ai/svc-lb-mux/validation/flags"
)

// Options are the settings of a process, from flags and environment variables. Flags take precedence.
type Options struct {
	// Pools is the file of pools.
	Pools string
	// APIPrefix is the prefix of annotations and classes.
	APIPrefix string
	// Namespace is the process's own namespace, which has its lease, the gateways' Leases, and the claims.
	Namespace string
	// MuxNamespaces are the namespaces of muxes, separated by commas; all if empty.
	MuxNamespaces string
	// LogLevel is debug, info, warn or error. If it is empty, the level is info, or debug if Debug is true.
	LogLevel, Debug string
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
	// Writes is how many statuses are written at a time.
	Writes int
}

// DefaultOptions returns the defaults, with the values of environment variables.
func DefaultOptions(getenv func(string) string) Options {
	return Options{
		APIPrefix:      cmp.Or(getenv("API_PREFIX"), validation.DefaultPrefix),
		Namespace:      cmp.Or(getenv("NAMESPACE"), "default"),
		Debug:          getenv("SVC_LB_MUX_DEBUG"),
		ProbeAddress:   ":8081",
		Kubeconfig:     getenv("KUBECONFIG"),
		InPod:          getenv("KUBERNETES_SERVICE_HOST") != "",
		LeaderElection: true,
		LeaseName:      "svc-lb-mux-gateways",
		LeaseDuration:  15 * time.Second,
		RenewDeadline:  10 * time.Second,
		RetryPeriod:    2 * time.Second,
		Writes:         16,
	}
}

// AddFlags defines the flags. Their defaults are the current values.
func (o *Options) AddFlags(set *flag.FlagSet) {
	text := func(to *string, name, usage string) { set.StringVar(to, name, *to, usage) }
	span := func(to *time.Duration, name, usage string) { set.DurationVar(to, name, *to, usage) }
	text(&o.Pools, "pools", "`file` with the pools of addresses")
	text(&o.APIPrefix, "api-prefix", "`prefix` of annotations and classes (API_PREFIX)")
	text(&o.Namespace, "namespace", "the process's own `namespace`, which has its lease, the gateways' Leases, and the "+
		"claims (NAMESPACE)")
	text(&o.MuxNamespaces, "mux-namespaces", "`namespaces` of muxes, separated by commas; all if empty")
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
	set.IntVar(&o.Writes, "writes", o.Writes, "`number` of statuses that are written at a time")
}

// Check returns all mistakes, each with its flag, its value and how to correct it.
func (o *Options) Check() error {
	_, levelErr := o.level()
	errs := []error{
		flags.Prefix("--api-prefix (API_PREFIX)", o.APIPrefix),
		flags.Namespace("--namespace (NAMESPACE)", o.Namespace), levelErr,
		flags.Address("--probe-address", o.ProbeAddress, "8081"), o.checkLease(),
	}
	for _, namespace := range flags.List(o.MuxNamespaces) {
		errs = append(errs, flags.Namespace("--mux-namespaces", namespace))
	}
	if o.Writes < 1 {
		errs = append(errs, fmt.Errorf("--writes %d: write 1 or more", o.Writes))
	}
	if o.Pools == "" {
		errs = append(errs, errors.New("--pools is empty: name the file with the pools of addresses"))
	} else if _, err := o.pools(); err != nil {
		errs = append(errs, err)
	}
	if o.Kubeconfig == "" && !o.InPod {
		errs = append(errs, errors.New("--kubeconfig (KUBECONFIG) is empty, and this process isn't in a pod of a cluster: "+
			"name the file with the connection to the API server"))
	}
	return errors.Join(errs...)
}

func (o *Options) checkLease() error {
	var errs []error
	if len(kube.IsDNS1123Subdomain(o.LeaseName)) > 0 {
		errs = append(errs, fmt.Errorf("--lease-name %q can't be a lease's name: write lower-case letters, digits and "+
			"dashes", o.LeaseName))
	}
	const longest = 24 * time.Hour
	if o.LeaseDuration < time.Second || o.LeaseDuration > longest || o.RenewDeadline >= o.LeaseDuration ||
		o.RetryPeriod <= 0 ||
		o.RetryPeriod >= o.RenewDeadline*5/6 {
		errs = append(errs, fmt.Errorf("--lease-duration %s, --renew-deadline %s and --retry-period %s don't fit together: "+
			"write retry period < 5/6 of the renew deadline < lease duration, and 1s to %s for the last one", o.LeaseDuration,
			o.RenewDeadline, o.RetryPeriod, longest))
	}
	return errors.Join(errs...)
}

func (o *Options) pools() ([]config.Pool, error) {
	text, err := os.ReadFile(o.Pools)
	if err != nil {
		return nil, fmt.Errorf("--pools %q: %w", o.Pools, err)
	}
	pools, err := config.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("--pools %q: %w", o.Pools, err)
	}
	return pools, nil
}

// language returns the language. Its default mux namespace doesn't matter here: classes of gateways name only pools.
func (o *Options) language() (validation.Language, error) {
	return validation.New(o.APIPrefix, o.Namespace)
}

func (o *Options) level() (zapcore.Level, error) {
	word, err := flags.Level(o.LogLevel, o.Debug)
	level, _ := zapcore.ParseLevel(word)
	return level, err
}
