package run

import (
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap/zapcore"
)

// optionsFrom returns the options that a process gets from its environment and command line.
func optionsFrom(t *testing.T, environment map[string]string, args ...string) Options {
	t.Helper()
	options := DefaultOptions(func(name string) string { return environment[name] })
	flags := flag.NewFlagSet("reconciler", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	options.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return options
}

func TestOptionsComeFromFlagsElseFromTheEnvironment(t *testing.T) {
	type env = map[string]string
	type seen struct {
		Prefix, Namespace, Muxes, Kubeconfig string
		Dry                                  bool
		Level                                zapcore.Level
	}
	tests := map[string]struct {
		environment env
		args        []string
		want        seen
	}{
		"in a pod no option is required": {
			env{"KUBERNETES_SERVICE_HOST": "10.96.0.1"}, nil,
			seen{"svc-mux.nowake.ai", "default", "default", "", false, zapcore.InfoLevel},
		},
		"the pod's namespace is the default for muxes, too": {
			env{"NAMESPACE": "infra", "KUBECONFIG": "a"}, nil,
			seen{"svc-mux.nowake.ai", "infra", "infra", "a", false, zapcore.InfoLevel},
		},
		"the original's environment variables": {
			env{"NAMESPACE": "infra", "DEFAULT_MUX_NAMESPACE": "muxes", "API_PREFIX": "mux.example.com",
				"SVC_LB_MUX_DEBUG": "True",
				"DRYRUN_MODE":      "YES", "KUBECONFIG": "a"}, nil,
			seen{"mux.example.com", "infra", "muxes", "a", true, zapcore.DebugLevel},
		},
		"a flag overrides the environment": {
			env{"NAMESPACE": "infra", "DEFAULT_MUX_NAMESPACE": "muxes", "API_PREFIX": "mux.example.com", "SVC_LB_MUX_DEBUG": "1",
				"DRYRUN_MODE": "true", "KUBECONFIG": "a"},
			[]string{"--api-prefix=x.io", "--namespace=n", "--default-mux-namespace=m", "--log-level=warn", "--dry-run=off",
				"--kubeconfig=b"},
			seen{"x.io", "n", "m", "b", false, zapcore.WarnLevel},
		},
		"a flag without a value": {
			env{"KUBECONFIG": "a"}, []string{"--dry-run"},
			seen{"svc-mux.nowake.ai", "default", "default", "a", true, zapcore.InfoLevel},
		},
		"false switches": {
			env{"KUBECONFIG": "a", "DRYRUN_MODE": "False", "SVC_LB_MUX_DEBUG": "0"}, nil,
			seen{"svc-mux.nowake.ai", "default", "default", "a", false, zapcore.InfoLevel},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			options := optionsFrom(t, tc.environment, tc.args...)
			if err := options.Check(); err != nil {
				t.Fatal(err)
			}
			lang, _ := options.language()
			level, _ := options.level()
			dry := Process{Options: options}.dry()
			got := seen{lang.Prefix(), options.Namespace, lang.DefaultMuxNamespace(), options.Kubeconfig, dry, level}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMistakeNamesFlagValueAndRemedy(t *testing.T) {
	tests := map[string]struct {
		edit func(*Options)
		want []string
	}{
		"an invalid prefix": {
			func(o *Options) { o.APIPrefix = "Mux_1" }, []string{"--api-prefix (API_PREFIX)", `"Mux_1"`},
		},
		"an invalid namespace": {
			func(o *Options) { o.Namespace = "My Own" }, []string{"--namespace (NAMESPACE)", `"My Own"`},
		},
		"an invalid mux namespace": {
			func(o *Options) { o.DefaultMuxNamespace = "a.b" },
			[]string{"--default-mux-namespace (DEFAULT_MUX_NAMESPACE)", `"a.b"`},
		},
		"one of several namespaces is invalid": {
			func(o *Options) { o.MuxNamespaces = "good, B@d," }, []string{"--mux-namespaces", `"B@d"`},
		},
		"an unknown level": {
			func(o *Options) { o.LogLevel = "loud" }, []string{`--log-level "loud": write debug, info, warn or error`},
		},
		"a level that hides errors": {
			func(o *Options) { o.LogLevel = "fatal" }, []string{`--log-level "fatal": write debug, info, warn or error`},
		},
		"an invalid debug switch": {
			func(o *Options) { o.Debug = "perhaps" }, []string{`SVC_LB_MUX_DEBUG "perhaps" is neither true nor false`},
		},
		"an invalid dry-run switch": {
			func(o *Options) { o.DryRun = "perhaps" }, []string{`--dry-run (DRYRUN_MODE) "perhaps" is neither true nor false`},
		},
		"an address without a port": {
			func(o *Options) { o.ProbeAddress = "localhost" },
			[]string{`--probe-address "localhost" is not host:port: write :8081`},
		},
		"a port by name": {
			func(o *Options) { o.ProbeAddress = ":http" }, []string{`--probe-address ":http" is not host:port: write :8081`},
		},
		"no API server address": {
			func(o *Options) { o.Kubeconfig = "" }, []string{"--kubeconfig (KUBECONFIG) is empty", "name the file"},
		},
		"a lease that its holder can't renew in time": {
			func(o *Options) { o.RenewDeadline = o.LeaseDuration },
			[]string{"--renew-deadline 5s must be more than 0 and less than 5s"},
		},
		"a retry period close to the deadline": {
			func(o *Options) { o.RetryPeriod = 9 * time.Second },
			[]string{"--retry-period 9s must be more than 0 and less than 3.333333333s"},
		},
		"a lease of less than a second": {
			func(o *Options) { o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = 900e6, 600e6, 100e6 },
			[]string{"--lease-duration 900ms: write 1s to 24h0m0s"},
		},
		"a lease that is too long": {
			func(o *Options) { o.LeaseDuration = 100 * 365 * 24 * time.Hour },
			[]string{"--lease-duration 876000h0m0s: write 1s to 24h0m0s"},
		},
		"a quiet time of zero": {
			func(o *Options) { o.Quiet = 0 }, []string{"--quiet 0s must be more than 0 and less than 1s"},
		},
		"a quiet time above the longest burst": {
			func(o *Options) { o.Quiet = time.Minute }, []string{"--quiet 1m0s must be more than 0 and less than 1s"},
		},
		"no concurrent writes": {
			func(o *Options) { o.Writes = 0 }, []string{"--writes 0: write 1 or more"},
		},
		"an invalid lease name": {
			func(o *Options) { o.LeaseName = "Lease_1" },
			[]string{`--lease-name "Lease_1" can't be a lease's name: a lowercase`},
		},
		"an invalid selector of predecessors": {
			func(o *Options) { o.Predecessors = "app in web" },
			[]string{`--predecessors "app in web" is no label selector`, "app=web"},
		},
		"a lease without a name": {
			func(o *Options) { o.LeaseName = "" }, []string{"--lease-name is empty: name the lease"},
		},
		"a trial of an invalid mux": {
			func(o *Options) { o.TryChannel = "Mux.a.b" }, []string{`--try-channel "Mux.a.b" names no mux`, "mux.default"},
		},
		"a trial and a drain": {
			func(o *Options) { o.TryChannel, o.Drain = "mux", true }, []string{"--try-channel", "leave out --drain"},
		},
		"a trial as a dry run": {
			func(o *Options) { o.TryChannel, o.DryRun = "mux", "yes" }, []string{"--try-channel", "leave out", "--dry-run"},
		},
		"a certificate with a short life": {
			func(o *Options) {
				o.WebhookConfiguration, o.SelfManagedSecret, o.SelfManagedLife = "w", "s", time.Minute
			},
			[]string{"--self-managed-duration 1m0s is too short: write 1h0m0s or more"},
		},
		"a certificate that is renewed too late": {
			func(o *Options) {
				o.WebhookConfiguration, o.SelfManagedSecret, o.SelfManagedRenew = "w", "s", time.Minute
			},
			[]string{"--self-managed-renew-before 1m0s is too short: write 5m0s or more"},
		},
		"a certificate that outlives its CA": {
			func(o *Options) {
				o.WebhookConfiguration, o.SelfManagedSecret, o.SelfManagedCA = "w", "s", 24*time.Hour
			},
			[]string{"--self-managed-ca-duration", "no more than the authority's 24h0m0s"},
		},
		"no patience": {
			func(o *Options) { o.Patience = 0 }, []string{"--patience 0s: write a time to wait, such as 1m"},
		},
		"several mistakes": {
			func(o *Options) { o.APIPrefix, o.Namespace, o.Writes, o.DryRun = "", "", -1, "maybe" },
			[]string{"--api-prefix", "--namespace", "--writes -1", "--dry-run"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			options := optionsFrom(t, map[string]string{"KUBECONFIG": "a"})
			tc.edit(&options)
			err := options.Check()
			if err == nil {
				t.Fatal("the options are accepted")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error %q lacks %q", err, want)
				}
			}
		})
	}
}
