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

// Options are the settings of a process, from flags and environment variables. Flags take precedence.
type Options struct {
	// APIPrefix is the prefix of annotations and classes.
	APIPrefix string
	// DefaultMuxNamespace is the namespace of muxes whose class has no namespace.
	DefaultMuxNamespace string
	// ExternalDNS are the prefixes of external-dns's annotations, separated by commas; if empty, its default prefixes.
	ExternalDNS string
	// MuxNamespaces are the namespaces in which the release manages muxes, separated by commas; all if empty.
	MuxNamespaces string
	// LogLevel is debug, info, warn or error. If it is empty, the level is info, or debug if Debug is true.
	LogLevel string
	// Debug is the value of the environment variable SVC_LB_MUX_DEBUG. There is no flag for it.
	Debug string

	// Address serves reviews over TLS. ProbeAddress serves probes and metrics over plain HTTP.
	Address, ProbeAddress string

	// CertDir holds the serving certificate in the files CertName and KeyName.
	CertDir, CertName, KeyName string
	// CertInterval is the time between two reads of the files.
	CertInterval time.Duration

	// ClientCA is the file with the CA that signs the certificates of API servers. Without one, any client is admitted.
	ClientCA string
	// ClientNames are the allowed names in such a certificate, separated by commas. If it is empty, any name is
	// allowed.
	ClientNames string

	// DrainDelay is how long new reviews are still taken after SIGTERM, until the cluster stops sending them.
	// DrainTimeout limits the wait for the reviews in progress after that.
	DrainDelay, DrainTimeout time.Duration

	PredictOptions
}

// DefaultOptions returns the defaults, with the values of environment variables.
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

// AddFlags defines the flags. Their defaults are the current values.
func (o *Options) AddFlags(set *flag.FlagSet) {
	text := func(to *string, name, usage string) { set.StringVar(to, name, *to, usage) }
	span := func(to *time.Duration, name, usage string) { set.DurationVar(to, name, *to, usage) }

	text(&o.APIPrefix, "api-prefix", "`prefix` of annotations and classes (API_PREFIX)")
	text(&o.DefaultMuxNamespace, "default-mux-namespace",
		"`namespace` of muxes whose class has no namespace (DEFAULT_MUX_NAMESPACE, else NAMESPACE)")
	text(&o.ExternalDNS, "external-dns-prefixes", flags.ExternalDNSUsage)
	text(&o.MuxNamespaces, "mux-namespaces",
		"`namespaces` in which the reconciler manages muxes, separated by commas; warns of muxes in others; all if empty")
	text(&o.LogLevel, "log-level", "debug, info, warn or error; info unless SVC_LB_MUX_DEBUG is true")
	text(&o.Address, "address", "`host:port` to serve admission reviews on, over TLS")
	text(&o.ProbeAddress, "probe-address", "`host:port` to serve /healthz, /readyz and /metrics on, over plain HTTP")
	text(&o.CertDir, "cert-dir", "`folder` with the serving certificate, such as a mounted Secret")
	text(&o.CertName, "cert-name", "`file` in --cert-dir with the certificate and its chain")
	text(&o.KeyName, "key-name", "`file` in --cert-dir with the private key")
	span(&o.CertInterval, "cert-interval", "`time` between two reads of these files")
	text(&o.ClientCA, "client-ca",
		"`file` with the CA that signs the client certificates of API servers; if empty, clients need no certificate")
	text(&o.ClientNames, "client-names",
		"allowed `names` in such a certificate, separated by commas; if empty, any name")
	span(&o.DrainDelay, "drain-delay",
		"`time` for which new reviews are still taken after SIGTERM, until the cluster stops sending them")
	span(&o.DrainTimeout, "drain-timeout", "`time` to wait after that for reviews in progress")
	o.PredictOptions.addFlags(set)
}

// Check returns all mistakes, each with its flag, its value and how to correct it.
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
		return errors.New("--default-mux-namespace is empty: set it, DEFAULT_MUX_NAMESPACE or NAMESPACE to the " +
			"namespace of your muxes")
	}
	errs := []error{flags.Namespace("--default-mux-namespace (DEFAULT_MUX_NAMESPACE, NAMESPACE)", o.DefaultMuxNamespace)}
	for _, namespace := range o.muxNamespaces() {
		errs = append(errs, flags.Namespace("--mux-namespaces", namespace))
	}
	return errors.Join(errs...)
}

// muxNamespaces returns the list of namespaces; empty for all.
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
		return fmt.Errorf("--probe-address %q is the same as --address: give it a port of its own", o.ProbeAddress)
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
		errs = append(errs, fmt.Errorf("--client-names %q have no effect alone: set --client-ca too", o.ClientNames))
	}
	if o.CertDir == "" {
		errs = append(errs, errors.New("--cert-dir is empty: name the folder that holds the certificate"))
	}
	return errors.Join(errs...)
}

// clientNames returns the list of allowed names; empty for any name.
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
