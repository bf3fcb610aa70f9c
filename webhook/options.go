package webhook

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap/zapcore"

	"nowake.ai/svc-lb-mux/validation"
	"nowake.ai/svc-lb-mux/validation/flags"
)

// Options are what a process is told: by flags and, where none is given, by environment variables.
type Options struct {
	// APIPrefix is what annotations and classes begin with.
	APIPrefix string
	// DefaultMuxNamespace is that of muxes which a class names without one.
	DefaultMuxNamespace string
	// ExternalDNS are what external-dns's annotations begin with, separated by commas; the usual ones if empty.
	ExternalDNS string
	// MuxNamespaces are those in which the release looks after muxes, separated by commas; all if empty.
	MuxNamespaces string
	// LogLevel is debug, info, warn or error; empty is info, or debug if Debug is true-like.
	LogLevel string
	// Debug is the environment's word; a flag would say LogLevel.
	Debug string

	// Address is where reviews are served over TLS, ProbeAddress where probes and metrics are, without.
	Address, ProbeAddress string

	// CertDir holds the serving certificate, as CertName and KeyName.
	CertDir, CertName, KeyName string
	// CertInterval is how often the files are looked at.
	CertInterval time.Duration

	// ClientCA is the file with the CA that signs the certificates of API servers. Without one, any client is admitted.
	ClientCA string
	// ClientNames are the names, one of which such a certificate must have; comma-separated. Empty allows all names.
	ClientNames string

	// DrainDelay is how long reviews are still taken once the process is told to end: the cluster needs that time to
	// stop sending them here. DrainTimeout bounds the wait for those still under way after it.
	DrainDelay, DrainTimeout time.Duration

	PredictOptions
}

// DefaultOptions takes from the environment what it says.
func DefaultOptions(getenv func(string) string) Options {
	return Options{
		APIPrefix:           cmp.Or(getenv("API_PREFIX"), validation.DefaultPrefix),
		DefaultMuxNamespace: cmp.Or(getenv("DEFAULT_MUX_NAMESPACE"), getenv("NAMESPACE")),
		ExternalDNS:         getenv("EXTERNAL_DNS_PREFIXES"),
		Debug:               getenv("SVC_LB_MUX_DEBUG"),
		Address:             ":9443",
		ProbeAddress:        ":8081",
		CertDir:             "/etc/svc-lb-mux/tls",
		CertName:            "tls.crt",
		KeyName:             "tls.key",
		CertInterval:        10 * time.Second,
		DrainDelay:          5 * time.Second,
		DrainTimeout:        15 * time.Second,
		PredictOptions:      defaultPredictOptions(getenv),
	}
}

// AddFlags lets flags overrule what is there.
func (o *Options) AddFlags(set *flag.FlagSet) {
	text := func(to *string, name, usage string) { set.StringVar(to, name, *to, usage) }
	span := func(to *time.Duration, name, usage string) { set.DurationVar(to, name, *to, usage) }

	text(&o.APIPrefix, "api-prefix", "`prefix` of annotations and classes (API_PREFIX)")
	text(&o.DefaultMuxNamespace, "default-mux-namespace",
		"`namespace` of muxes that a class names without one (DEFAULT_MUX_NAMESPACE, else NAMESPACE)")
	text(&o.ExternalDNS, "external-dns-prefixes", flags.ExternalDNSUsage)
	text(&o.MuxNamespaces, "mux-namespaces",
		"`namespaces` in which the reconciler looks after muxes, separated by commas, to warn of muxes elsewhere; all if empty")
	text(&o.LogLevel, "log-level", "debug, info, warn or error; info unless SVC_LB_MUX_DEBUG is true")
	text(&o.Address, "address", "`host:port` to serve admission reviews on, over TLS")
	text(&o.ProbeAddress, "probe-address", "`host:port` to serve /healthz, /readyz and /metrics on, over plain HTTP")
	text(&o.CertDir, "cert-dir", "`folder` with the serving certificate, such as a mounted Secret")
	text(&o.CertName, "cert-name", "`file` in it with the certificate and what follows it in its chain")
	text(&o.KeyName, "key-name", "`file` in it with the private key")
	span(&o.CertInterval, "cert-interval", "`time` between two looks at these files")
	text(&o.ClientCA, "client-ca",
		"`file` with the CA that signs the certificates of API servers; if empty, the webhook asks for none")
	text(&o.ClientNames, "client-names",
		"comma-separated `names`, one of which such a certificate must have; all if empty")
	span(&o.DrainDelay, "drain-delay",
		"`time` for which reviews are still taken after SIGTERM, while the cluster stops sending them")
	span(&o.DrainTimeout, "drain-timeout", "`time` to wait for reviews that are still under way after that")
	o.PredictOptions.addFlags(set)
}

// Check says everything that is wrong, each with its flag, its value and the way out.
func (o Options) Check() error {
	_, langErr := o.language()
	_, levelErr := o.level()
	return errors.Join(langErr, levelErr, o.checkAddresses(), o.checkFiles(), o.checkTimes(), o.PredictOptions.check())
}

func (o Options) language() (validation.Language, error) {
	if err := errors.Join(flags.Prefix("--api-prefix (API_PREFIX)", o.APIPrefix), o.checkNamespace(),
		flags.ExternalDNS("--external-dns-prefixes (EXTERNAL_DNS_PREFIXES)", o.ExternalDNS)); err != nil {
		return validation.Language{}, err
	}
	return flags.Language(o.APIPrefix, o.DefaultMuxNamespace, o.ExternalDNS)
}

func (o Options) checkNamespace() error {
	if o.DefaultMuxNamespace == "" {
		return errors.New("--default-mux-namespace is empty: name the namespace that muxes live in, there or in " +
			"DEFAULT_MUX_NAMESPACE or NAMESPACE")
	}
	errs := []error{flags.Namespace("--default-mux-namespace (DEFAULT_MUX_NAMESPACE, NAMESPACE)", o.DefaultMuxNamespace)}
	for _, namespace := range o.muxNamespaces() {
		errs = append(errs, flags.Namespace("--mux-namespaces", namespace))
	}
	return errors.Join(errs...)
}

// muxNamespaces is the list; empty for all.
func (o Options) muxNamespaces() []string { return flags.List(o.MuxNamespaces) }

func (o Options) level() (zapcore.Level, error) {
	word, err := flags.Level(o.LogLevel, o.Debug)
	level, _ := zapcore.ParseLevel(word)
	return level, err
}

func (o Options) checkAddresses() error {
	err := errors.Join(flags.Address("--address", o.Address, "9443"),
		flags.Address("--probe-address", o.ProbeAddress, "8081"))
	if err == nil && o.Address == o.ProbeAddress && !strings.HasSuffix(o.Address, ":0") {
		return fmt.Errorf("--probe-address %q is --address too: give it a port of its own", o.ProbeAddress)
	}
	return err
}

func (o Options) checkFiles() error {
	var errs []error
	for _, file := range []struct{ name, value string }{{"--cert-name", o.CertName}, {"--key-name", o.KeyName}} {
		if filepath.Base(file.value) != file.value || file.value == "." || !fs.ValidPath(file.value) {
			errs = append(errs, fmt.Errorf("%s %q is not the name of a file in --cert-dir: write one such as tls.crt",
				file.name, file.value))
		}
	}
	if o.ClientCA == "" && o.ClientNames != "" {
		errs = append(errs, fmt.Errorf("--client-names %q are of certificates that nothing asks for: set --client-ca too", o.ClientNames))
	}
	if o.CertDir == "" {
		errs = append(errs, errors.New("--cert-dir is empty: name the folder that holds the certificate"))
	}
	return errors.Join(errs...)
}

// clientNames returns the names without blanks.
func (o Options) clientNames() []string {
	var names []string
	for name := range strings.SplitSeq(o.ClientNames, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func (o Options) checkTimes() error {
	var errs []error
	for _, span := range []struct {
		name         string
		value, least time.Duration
	}{
		{"--cert-interval", o.CertInterval, 10 * time.Millisecond},
		{"--drain-delay", o.DrainDelay, 0},
		{"--drain-timeout", o.DrainTimeout, 0},
	} {
		if span.value < span.least {
			errs = append(errs, fmt.Errorf("%s %s is too short: write %s or more, such as 10s",
				span.name, span.value, span.least))
		}
	}
	return errors.Join(errs...)
}
