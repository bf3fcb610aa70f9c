package process

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

// Options are what a process is told: by flags and, where none is given, by environment variables.
type Options struct {
	// APIPrefix is what annotations and classes begin with.
	APIPrefix string
	// Namespace is the process's own, where its lease is.
	Namespace string
	// DefaultMuxNamespace is that of muxes which a class names without one; Namespace if empty.
	DefaultMuxNamespace string
	// ExternalDNS are what external-dns's annotations begin with, separated by commas; the usual ones if empty.
	ExternalDNS string
	// MuxNamespaces are those that muxes are in, separated by commas; all if empty.
	MuxNamespaces string
	// DryRun is whether to print what would be written, and write nothing.
	DryRun flags.Switch
	// LogLevel is debug, info, warn or error; empty is info, or debug if Debug is true-like.
	LogLevel string
	// Debug is the environment's word; a flag would say LogLevel.
	Debug string

	// ProbeAddress is where probes and metrics are served.
	ProbeAddress string
	// Kubeconfig is the file that says how to reach the API server; empty means from within the cluster.
	Kubeconfig string
	// InPod is true where there is a cluster around the process.
	InPod bool

	// LeaderElection is off for a process that is the only one by other means.
	LeaderElection                            bool
	LeaseName                                 string
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// Predecessors selects pods in Namespace that must end before this process leads; none if empty.
	Predecessors string

	// Quiet and Longest space the passes over a mux in a burst of changes.
	Quiet, Longest time.Duration
	// PortChangesBurst and PortChangesPace bound how often the channels of one namespace change their ports on one mux.
	PortChangesBurst int
	PortChangesPace  time.Duration
	// Writes bounds how many channels of a mux, and how many channels' backends in a namespace, are written side by side.
	Writes int
	// LegacyEndpoints asks for an Endpoints object on each mux.
	LegacyEndpoints bool

	AdmissionOptions
	ConsoleOptions
	OnceOptions
}

// DefaultOptions takes from the environment what it says.
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

// AddFlags lets flags overrule what is there.
func (o *Options) AddFlags(set *flag.FlagSet) {
	text := func(to *string, name, usage string) { set.StringVar(to, name, *to, usage) }
	span := func(to *time.Duration, name, usage string) { set.DurationVar(to, name, *to, usage) }

	text(&o.APIPrefix, "api-prefix", "`prefix` of annotations and classes (API_PREFIX)")
	text(&o.Namespace, "namespace", "the process's own `namespace`, where its lease is (NAMESPACE)")
	text(&o.DefaultMuxNamespace, "default-mux-namespace",
		"`namespace` of muxes that a class names without one (DEFAULT_MUX_NAMESPACE, else NAMESPACE)")
	text(&o.ExternalDNS, "external-dns-prefixes", flags.ExternalDNSUsage)
	text(&o.MuxNamespaces, "mux-namespaces", "`namespaces` that muxes are in, separated by commas; all if empty")
	set.Var(&o.DryRun, "dry-run", "print what would be written, and write nothing: true or false (DRYRUN_MODE)")
	text(&o.LogLevel, "log-level", "debug, info, warn or error; info unless SVC_LB_MUX_DEBUG is true")
	text(&o.ProbeAddress, "probe-address", "`host:port` to serve /healthz, /readyz and /metrics on, over plain HTTP")
	text(&o.Kubeconfig, "kubeconfig", "`file` that says how to reach the API server (KUBECONFIG); from within the cluster if empty")
	set.BoolVar(&o.LeaderElection, "leader-election", o.LeaderElection, "wait to be the leader before anything is written")
	text(&o.LeaseName, "lease-name", "`name` of the lease that leaders hold")
	span(&o.LeaseDuration, "lease-duration", "`time` after which a leader that was heard of last is taken for gone")
	span(&o.RenewDeadline, "renew-deadline", "`time` for which a leader tries to stay it")
	span(&o.RetryPeriod, "retry-period", "`time` between two tries to become it")
	text(&o.Predecessors, "predecessors",
		"label `selector` of pods in the process's own namespace that must end before this process leads; none if empty")
	span(&o.Quiet, "quiet", "`time` without changes that ends a burst: then a mux is written")
	span(&o.Longest, "longest", "`time` after which it is written though changes keep coming")
	set.IntVar(&o.PortChangesBurst, "port-changes-burst", o.PortChangesBurst,
		"`number` of passes at once that may change ports of one namespace's channels on one mux")
	span(&o.PortChangesPace, "port-changes-pace", "`time` after which one more may; 0 is no limit")
	set.IntVar(&o.Writes, "writes", o.Writes, "`number` of writes side by side: of the channels of one mux, and of the backends of one namespace")
	set.BoolVar(&o.LegacyEndpoints, "legacy-endpoints", o.LegacyEndpoints,
		"write an Endpoints object on each mux too, for readers that know no EndpointSlices")
	o.AdmissionOptions.addFlags(set)
	o.ConsoleOptions.addFlags(set)
	o.OnceOptions.addFlags(set)
}

// Check says everything that is wrong, each with its flag, its value and the way out.
func (o *Options) Check() error {
	_, levelErr := o.level()
	_, dryErr := o.DryRun.On("--dry-run (DRYRUN_MODE)")
	return errors.Join(flags.Prefix("--api-prefix (API_PREFIX)", o.APIPrefix), o.checkNamespaces(),
		flags.ExternalDNS("--external-dns-prefixes (EXTERNAL_DNS_PREFIXES)", o.ExternalDNS), levelErr, dryErr,
		flags.Address("--probe-address", o.ProbeAddress, "8081"), o.checkTimes(), o.checkNumbers(), o.checkLease(), o.checkPredecessors(),
		o.checkKubeconfig(), o.AdmissionOptions.check(), o.ConsoleOptions.check(), o.checkOnce())
}

func (o *Options) checkKubeconfig() error {
	if o.Kubeconfig == "" && !o.InPod {
		return errors.New("--kubeconfig (KUBECONFIG) is empty, and this is no pod of a cluster: name the file that says how to " +
			"reach the API server")
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

// muxNamespaces is the list; empty for all.
func (o *Options) muxNamespaces() []string { return flags.List(o.MuxNamespaces) }

// name tells this reconciler from others in the cluster: no two of them hold one lease.
func (o *Options) name() string { return o.Namespace + "/" + o.LeaseName }

func (o *Options) level() (zapcore.Level, error) {
	word, err := flags.Level(o.LogLevel, o.Debug)
	level, _ := zapcore.ParseLevel(word)
	return level, err
}

// longestLease is far from what a lease can't hold any more.
const longestLease = 24 * time.Hour

func (o *Options) checkTimes() error {
	var errs []error
	for _, span := range []struct {
		name        string
		value, most time.Duration
	}{
		{"--retry-period", o.RetryPeriod, o.RenewDeadline * 5 / 6}, // client-go wants that much room for chance
		{"--renew-deadline", o.RenewDeadline, o.LeaseDuration},
		{"--quiet", o.Quiet, o.Longest},
	} {
		if span.value <= 0 || span.value >= span.most {
			errs = append(errs, fmt.Errorf("%s %s must be more than 0 and less than %s: quiet < longest, and retry period "+
				"< 5/6 of the renew deadline < lease duration", span.name, span.value, span.most))
		}
	}
	if o.LeaseDuration < time.Second || o.LeaseDuration > longestLease {
		errs = append(errs, fmt.Errorf("--lease-duration %s: write 1s to %s, since leases count in seconds, and nobody leads for so "+
			"long after a leader died", o.LeaseDuration, longestLease))
	}
	return errors.Join(errs...)
}

// Bounds of the budget of port changes: beyond these, a channel waits for hours, or nothing is bounded.
const (
	mostPortChanges = 10_000
	longestPace     = 10 * time.Minute
)

func (o *Options) checkNumbers() error {
	var errs []error
	if o.Writes < 1 {
		errs = append(errs, fmt.Errorf("--writes %d: write 1 or more", o.Writes))
	}
	if o.PortChangesBurst < 1 || o.PortChangesBurst > mostPortChanges {
		errs = append(errs, fmt.Errorf("--port-changes-burst %d: write 1 to %d", o.PortChangesBurst, mostPortChanges))
	}
	if o.PortChangesPace < 0 || o.PortChangesPace > longestPace {
		errs = append(errs, fmt.Errorf("--port-changes-pace %s: write 0, which is no limit, to %s", o.PortChangesPace, longestPace))
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
		return fmt.Errorf("--predecessors %q is no label selector: %w: write one such as app=web,version!=2", o.Predecessors, err)
	}
	return nil
}
