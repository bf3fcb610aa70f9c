package reconciler

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap/zapcore"

	"nowake.ai/svc-lb-mux/validation"
)

// Options are what a process is told: by flags and, where none is given, by environment variables.
type Options struct {
	// APIPrefix is what annotations and classes begin with.
	APIPrefix string
	// Namespace is the process's own, where its lease is.
	Namespace string
	// DefaultMuxNamespace is that of muxes which a class names without one; Namespace if empty.
	DefaultMuxNamespace string
	// MuxNamespaces are those that muxes are in, separated by commas; all if empty.
	MuxNamespaces string
	// DryRun is whether to print what would be written, and write nothing.
	DryRun Switch
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

	// Quiet and Longest space the passes over a mux in a burst of changes.
	Quiet, Longest time.Duration
	// Writes bounds how many channels of a mux, and how many channels' backends, are written side by side.
	Writes int
	// LegacyEndpoints asks for an Endpoints object on each mux.
	LegacyEndpoints bool
}

// Switch is a flag that the environment may set as freely as the original let it.
type Switch string

// DefaultOptions takes from the environment what it says.
func DefaultOptions(getenv func(string) string) Options {
	return Options{
		APIPrefix:           cmp.Or(getenv("API_PREFIX"), validation.DefaultPrefix),
		Namespace:           cmp.Or(getenv("NAMESPACE"), "default"),
		DefaultMuxNamespace: getenv("DEFAULT_MUX_NAMESPACE"),
		DryRun:              Switch(getenv("DRYRUN_MODE")),
		Debug:               getenv("SVC_LB_MUX_DEBUG"),
		ProbeAddress:        ":8081",
		Kubeconfig:          getenv("KUBECONFIG"),
		InPod:               getenv("KUBERNETES_SERVICE_HOST") != "",
		LeaderElection:      true,
		LeaseName:           "svc-lb-mux-reconciler",
		LeaseDuration:       15 * time.Second,
		RenewDeadline:       10 * time.Second,
		RetryPeriod:         2 * time.Second,
		Quiet:               50 * time.Millisecond,
		Longest:             time.Second,
		Writes:              16,
	}
}

// AddFlags lets flags overrule what is there.
func (o *Options) AddFlags(flags *flag.FlagSet) {
	text := func(to *string, name, usage string) { flags.StringVar(to, name, *to, usage) }
	span := func(to *time.Duration, name, usage string) { flags.DurationVar(to, name, *to, usage) }

	text(&o.APIPrefix, "api-prefix", "`prefix` of annotations and classes (API_PREFIX)")
	text(&o.Namespace, "namespace", "the process's own `namespace`, where its lease is (NAMESPACE)")
	text(&o.DefaultMuxNamespace, "default-mux-namespace",
		"`namespace` of muxes that a class names without one (DEFAULT_MUX_NAMESPACE, else NAMESPACE)")
	text(&o.MuxNamespaces, "mux-namespaces", "`namespaces` that muxes are in, separated by commas; all if empty")
	flags.Var(&o.DryRun, "dry-run", "print what would be written, and write nothing: true or false (DRYRUN_MODE)")
	text(&o.LogLevel, "log-level", "debug, info, warn or error; info unless SVC_LB_MUX_DEBUG is true")
	text(&o.ProbeAddress, "probe-address", "`host:port` to serve /healthz, /readyz and /metrics on, over plain HTTP")
	text(&o.Kubeconfig, "kubeconfig", "`file` that says how to reach the API server (KUBECONFIG); from within the cluster if empty")
	flags.BoolVar(&o.LeaderElection, "leader-election", o.LeaderElection, "wait to be the leader before anything is written")
	text(&o.LeaseName, "lease-name", "`name` of the lease that leaders hold")
	span(&o.LeaseDuration, "lease-duration", "`time` after which a leader that was heard of last is taken for gone")
	span(&o.RenewDeadline, "renew-deadline", "`time` for which a leader tries to stay it")
	span(&o.RetryPeriod, "retry-period", "`time` between two tries to become it")
	span(&o.Quiet, "quiet", "`time` without changes that ends a burst: then a mux is written")
	span(&o.Longest, "longest", "`time` after which it is written though changes keep coming")
	flags.IntVar(&o.Writes, "writes", o.Writes, "`number` of writes side by side, for channels and for backends each")
	flags.BoolVar(&o.LegacyEndpoints, "legacy-endpoints", o.LegacyEndpoints,
		"write an Endpoints object on each mux too, for readers that know no EndpointSlices")
}

// Check says everything that is wrong, each with its flag, its value and the way out.
func (o *Options) Check() error {
	_, levelErr := o.level()
	_, dryErr := o.DryRun.on("--dry-run (DRYRUN_MODE)")
	return errors.Join(o.checkPrefix(), o.checkNamespaces(), levelErr, dryErr, o.checkAddress(), o.checkTimes(), o.checkNumbers(),
		o.checkKubeconfig())
}

func (o *Options) checkKubeconfig() error {
	if o.Kubeconfig == "" && !o.InPod {
		return errors.New("--kubeconfig (KUBECONFIG) is empty, and this is no pod of a cluster: name the file that says how to " +
			"reach the API server")
	}
	return nil
}

func (o *Options) language() (validation.Language, error) {
	return validation.New(o.APIPrefix, cmp.Or(o.DefaultMuxNamespace, o.Namespace))
}

// checkPrefix and checkNamespaces each put something good in the other's place, so that all is told at once.
func (o *Options) checkPrefix() error {
	if _, err := validation.New(o.APIPrefix, "default"); err != nil {
		return fmt.Errorf("--api-prefix (API_PREFIX): %w", err)
	}
	return nil
}

func (o *Options) checkNamespaces() error {
	var errs []error
	check := func(what, namespace string) {
		if _, err := validation.New(validation.DefaultPrefix, namespace); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
	}
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
func (o *Options) muxNamespaces() []string {
	var namespaces []string
	for name := range strings.SplitSeq(o.MuxNamespaces, ",") {
		if name = strings.TrimSpace(name); name != "" {
			namespaces = append(namespaces, name)
		}
	}
	return namespaces
}

func (o *Options) level() (zapcore.Level, error) {
	if o.LogLevel != "" {
		level, err := zapcore.ParseLevel(o.LogLevel)
		if err != nil || level > zapcore.ErrorLevel {
			return level, fmt.Errorf("--log-level %q: write debug, info, warn or error", o.LogLevel)
		}
		return level, nil
	}
	debug, err := Switch(o.Debug).on("SVC_LB_MUX_DEBUG")
	if debug {
		return zapcore.DebugLevel, err
	}
	return zapcore.InfoLevel, err
}

func (o *Options) checkAddress() error {
	_, port, err := net.SplitHostPort(o.ProbeAddress)
	if _, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil {
		return fmt.Errorf("--probe-address %q is not host:port: write :8081, or 127.0.0.1:8081", o.ProbeAddress)
	}
	return nil
}

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
	if o.LeaseDuration < time.Second {
		errs = append(errs, fmt.Errorf("--lease-duration %s: write 1s or more, since leases count in seconds", o.LeaseDuration))
	}
	return errors.Join(errs...)
}

func (o *Options) checkNumbers() error {
	var errs []error
	if o.Writes < 1 {
		errs = append(errs, fmt.Errorf("--writes %d: write 1 or more", o.Writes))
	}
	if o.LeaseName == "" {
		errs = append(errs, errors.New("--lease-name is empty: name the lease that leaders hold"))
	}
	return errors.Join(errs...)
}

// String returns what was set.
func (s *Switch) String() string { return string(*s) }

// Set takes anything: Options.Check judges it.
func (s *Switch) Set(value string) error {
	*s = Switch(value)
	return nil
}

// IsBoolFlag lets --dry-run stand alone.
func (s *Switch) IsBoolFlag() bool { return true }

func (s Switch) on(name string) (bool, error) {
	switch strings.ToLower(string(s)) {
	case "1", "true", "t", "yes", "y", "on":
		return true, nil
	case "", "0", "false", "f", "no", "n", "off":
		return false, nil
	}
	return false, fmt.Errorf("%s %q is neither true nor false: write one of them", name, string(s))
}
