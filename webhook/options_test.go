package webhook

import (
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"
)

// optionsFrom returns the options that a process gets from its environment and command line.
func optionsFrom(t *testing.T, environment map[string]string, args ...string) Options {
	t.Helper()
	options := DefaultOptions(func(name string) string { return environment[name] })
	flags := flag.NewFlagSet("webhook", flag.ContinueOnError)
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
		prefix, namespace string
		level             zapcore.Level
	}
	tests := map[string]struct {
		environment env
		args        []string
		want        seen
	}{
		"only the pod's namespace is required": {
			env{"NAMESPACE": "infra"}, nil, seen{"svc-mux.nowake.ai", "infra", zapcore.InfoLevel},
		},
		"the default mux namespace overrides the pod's": {
			env{"NAMESPACE": "infra", "DEFAULT_MUX_NAMESPACE": "muxes", "API_PREFIX": "mux.example.com",
				"SVC_LB_MUX_DEBUG": "True"},
			nil, seen{"mux.example.com", "muxes", zapcore.DebugLevel},
		},
		"a flag overrides the environment": {
			env{"NAMESPACE": "infra", "DEFAULT_MUX_NAMESPACE": "muxes", "API_PREFIX": "mux.example.com",
				"SVC_LB_MUX_DEBUG": "1"},
			[]string{"--api-prefix=x.io", "--default-mux-namespace=y", "--log-level=warn"}, seen{"x.io", "y", zapcore.WarnLevel},
		},
		"a false debug switch": {
			env{"NAMESPACE": "infra", "SVC_LB_MUX_DEBUG": "off"}, nil, seen{"svc-mux.nowake.ai", "infra", zapcore.InfoLevel},
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
			if got := (seen{lang.Prefix(), lang.DefaultMuxNamespace(), level}); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestMistakeNamesFlagValueAndRemedy(t *testing.T) {
	tests := map[string]struct {
		edit func(*Options)
		want []string
	}{
		"a prefix in capitals": {func(o *Options) { o.APIPrefix = "Mux.example.com" },
			[]string{"--api-prefix", "API_PREFIX", `"Mux.example.com"`, "such as"}},
		"an invalid namespace": {func(o *Options) { o.DefaultMuxNamespace = "a/b" },
			[]string{"--default-mux-namespace", `"a/b"`}},
		"no namespace": {func(o *Options) { o.DefaultMuxNamespace = "" },
			[]string{"--default-mux-namespace", "empty", "NAMESPACE"}},
		"an unknown level": {func(o *Options) { o.LogLevel = "loud" },
			[]string{"--log-level", `"loud"`, "debug, info"}},
		"a level that hides errors": {func(o *Options) { o.LogLevel = "fatal" },
			[]string{"--log-level", `"fatal"`, "debug, info"}},
		"an invalid debug switch": {func(o *Options) { o.Debug = "maybe" },
			[]string{"SVC_LB_MUX_DEBUG", `"maybe"`, "--log-level"}},
		"an address without a port": {func(o *Options) { o.Address = "localhost" },
			[]string{"--address", `"localhost"`, ":9443"}},
		"a port by name": {func(o *Options) { o.ProbeAddress = ":http" },
			[]string{"--probe-address", `":http"`}},
		"a port that is too large": {func(o *Options) { o.Address = ":65536" }, []string{"--address", `":65536"`}},
		"one port for both": {func(o *Options) { o.ProbeAddress = o.Address },
			[]string{"--probe-address", `":9443"`, "of its own"}},
		"an empty folder": {func(o *Options) { o.CertDir = "" }, []string{"--cert-dir", "empty"}},
		"a file outside the folder": {func(o *Options) { o.KeyName = "../tls.key" },
			[]string{"--key-name", `"../tls.key"`, "tls.crt"}},
		"the folder itself":  {func(o *Options) { o.CertName = "." }, []string{"--cert-name", `"."`, "tls.crt"}},
		"the folder above":   {func(o *Options) { o.KeyName = ".." }, []string{"--key-name", `".."`, "tls.crt"}},
		"the root folder":    {func(o *Options) { o.KeyName = "/" }, []string{"--key-name", `"/"`, "tls.crt"}},
		"an empty file name": {func(o *Options) { o.CertName = "" }, []string{"--cert-name", `""`}},
		"a negative delay": {func(o *Options) { o.DrainDelay = -time.Second },
			[]string{"--drain-delay", "-1s", "10s"}},
		"an invalid prediction switch": {func(o *Options) { o.Predict = "maybe" },
			[]string{"--predict", "PREDICT", `"maybe"`}},
		"strict without predictions": {func(o *Options) { o.Strict = "true" },
			[]string{"--predict-strict", "set --predict too"}},
		"an interval of zero": {func(o *Options) { o.CertInterval = 0 }, []string{"--cert-interval", "0s", "10s"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			options := optionsFrom(t, map[string]string{"NAMESPACE": "infra"})
			tc.edit(&options)
			err := options.Check()
			if err == nil {
				t.Fatal("the options are accepted")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("want one mistake, got %q", err)
			}
			if err := Run(t.Context(), options, "", io.Discard); err == nil {
				t.Error("Run accepts options that Check refuses")
			}
		})
	}
}

func TestAllMistakesAreReportedAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want []string // the beginning of each line
	}{
		"only the address is valid": {
			[]string{"--api-prefix=X", "--default-mux-namespace=Y", "--log-level=z", "--probe-address=x", "--cert-name=",
				"--drain-delay=-1s"},
			[]string{"--api-prefix", "--default-mux-namespace", "--log-level", "--probe-address", "--cert-name",
				"--drain-delay"},
		},
		"no namespace, and a bad prefix": {[]string{"--api-prefix=X"},
			[]string{"--api-prefix", "--default-mux-namespace is empty"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := optionsFrom(t, nil, tc.args...).Check()
			if err == nil {
				t.Fatal("the options are accepted")
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(tc.want) {
				t.Fatalf("%d lines, want %d: %q", len(lines), len(tc.want), lines)
			}
			for i, want := range tc.want {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("line %d is %q, want %s", i, lines[i], want)
				}
			}
		})
	}
}
