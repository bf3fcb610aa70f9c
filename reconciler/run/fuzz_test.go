package run

import (
	"context"
	"flag"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

// FuzzOptions gives a process any words, one per line. Words with a dash are flags, the others set environment
// variables. Accepted options must work, and each mistake must name its flag.
func FuzzOptions(f *testing.F) {
	golden.Seeds(f)
	for _, words := range []string{
		"KUBERNETES_SERVICE_HOST=10.96.0.1", "--kubeconfig=a\n--mux-namespaces=a, b,,A\n--dry-run",
		"NAMESPACE=infra\nDEFAULT_MUX_NAMESPACE=a.b\n--drain",
		"KUBECONFIG=a\nAPI_PREFIX=mux.example.com\nDRYRUN_MODE=perhaps\nSVC_LB_MUX_DEBUG=1\n--log-level=WARN",
		"KUBECONFIG=a\n--lease-duration=2s\n--renew-deadline=1500ms\n--retry-period=1.2s\n--quiet=1ms\n--longest=2ms",
		"KUBECONFIG=a\n--lease-duration=9e5h\n--writes=0\n--lease-name=Lease_1",
		"KUBECONFIG=a\n--try-channel=mux.infra\n--patience=-1s",
		"KUBECONFIG=a\nDEBUG_WEB_PORT=9000\nDEBUG_WEB_AUTH_TOKEN=x\n--console-cert=a",
		"KUBECONFIG=a\n--console-address=[::ffff:127.0.0.1]:1\nDEBUG_WEB_ENABLED=y",
		"KUBECONFIG=a\n--console-address=0.0.0.0:8080\n--probe-address=:http",
		"KUBECONFIG=a\n--lease-name=\n--api-prefix=A/b", "KUBECONFIG=a\n--lease-name=Lease_1",
		"KUBECONFIG=a\n--lease-duration=2s\n--renew-deadline=1500ms\n--retry-period=1.3s",
		"KUBECONFIG=a\n--console-address=0.0.0.0:8080",
	} {
		f.Add(words)
	}
	f.Fuzz(func(t *testing.T, words string) {
		options, parsed := optionsOf(words)
		if !parsed {
			return
		}
		if err := options.Check(); err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, "SVC_LB_MUX_DEBUG ") {
					t.Errorf("the message doesn't name the flag: %q", line)
				}
			}
			return
		}
		checkNames(t, &options)
		checkElection(t, &options)
		checkConsole(t, &options.ConsoleOptions)
	})
}

func optionsOf(words string) (Options, bool) {
	environment, args := map[string]string{}, []string(nil)
	for word := range strings.SplitSeq(words, "\n") {
		if name, value, found := strings.Cut(word, "="); found && !strings.HasPrefix(word, "-") {
			environment[name] = value
			continue
		}
		args = append(args, word)
	}
	options := DefaultOptions(func(name string) string { return environment[name] })
	set := flag.NewFlagSet("reconciler", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	options.AddFlags(set)
	return options, set.Parse(args) == nil
}

// checkNames checks names against Kubernetes' own rules.
func checkNames(t *testing.T, o *Options) {
	t.Helper()
	language, err := o.language()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.level(); err != nil {
		t.Error(err)
	}
	wrong := append(validation.IsDNS1123Subdomain(language.Prefix()), validation.IsDNS1123Subdomain(o.LeaseName)...)
	for _, namespace := range append(o.muxNamespaces(), o.Namespace, language.DefaultMuxNamespace()) {
		wrong = append(wrong, validation.IsDNS1123Label(namespace)...)
	}
	if mux, ok := o.tryMux(); o.TryChannel != "" {
		wrong = append(append(wrong, validation.IsDNS1123Label(mux.Name)...), validation.IsDNS1123Label(mux.Namespace)...)
		if !ok {
			t.Errorf("%q doesn't name a mux", o.TryChannel)
		}
	}
	if len(wrong) > 0 {
		t.Errorf("%+v: %q", o, wrong)
	}
}

// checkElection lets client-go check the times.
func checkElection(t *testing.T, o *Options) {
	t.Helper()
	_, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          &resourcelock.LeaseLock{LockConfig: resourcelock.ResourceLockConfig{Identity: "a"}},
		LeaseDuration: o.LeaseDuration,
		RenewDeadline: o.RenewDeadline, RetryPeriod: o.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	})
	if err != nil {
		t.Errorf("%s, %s, %s: %v", o.LeaseDuration, o.RenewDeadline, o.RetryPeriod, err)
	}
}

// checkConsole checks that other machines can reach the console only if it requires a token.
func checkConsole(t *testing.T, o *ConsoleOptions) {
	t.Helper()
	if !o.Console.Yes() {
		return
	}
	host, port, err := net.SplitHostPort(o.ConsoleAddress)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		t.Error(err)
	}
	address, _, _ := strings.Cut(host, "%")
	if ip := net.ParseIP(address); o.ConsoleToken == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		t.Errorf("%q is reachable without a token", o.ConsoleAddress)
	}
}
