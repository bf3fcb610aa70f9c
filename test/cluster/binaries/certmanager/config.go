package main

import (
	"fmt"
	"os"
	"time"

	shared "github.com/cert-manager/cert-manager/pkg/apis/config/shared/v1alpha1"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// readConfig applies a file to a versioned configuration. It is strict: a misspelt field would silently test the
// default.
func readConfig(path string, want schema.GroupVersionKind, config any, written *metav1.TypeMeta) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(text, config); err != nil {
		return err
	}
	if got := written.GroupVersionKind(); got != want {
		return fmt.Errorf("holds %s, expected %s", got, want)
	}
	return nil
}

// onlyPlainMetrics refuses a setting for TLS: metrics would silently be served in plain HTTP.
func onlyPlainMetrics(tls shared.TLSConfig) error {
	if tls.Filesystem.CertFile != "" || tls.Dynamic.SecretName != "" {
		return fmt.Errorf("metricsTLSConfig: metrics are served in plain HTTP only; leave it out")
	}
	return nil
}

// defaultLeaderElection returns upstream's durations. If a candidate is killed, another one takes over only after the
// lease duration. So tests that restart a component use --leader-elect=false.
func defaultLeaderElection() shared.LeaderElectionConfig {
	return shared.LeaderElectionConfig{
		Enabled:       new(true),
		Namespace:     "kube-system",
		LeaseDuration: seconds(60),
		RenewDeadline: seconds(40),
		RetryPeriod:   seconds(15),
	}
}

func addLeaderElectionFlags(flags *pflag.FlagSet, c *shared.LeaderElectionConfig) {
	flags.BoolVar(c.Enabled, "leader-elect", *c.Enabled, "work only while holding the lease")
	flags.StringVar(&c.Namespace, "leader-election-namespace", c.Namespace, "namespace of the lease")
	addDuration(flags, c.LeaseDuration, "leader-election-lease-duration", "age at which others may take the lease")
	addDuration(flags, c.RenewDeadline, "leader-election-renew-deadline", "how long to try to renew the lease")
	addDuration(flags, c.RetryPeriod, "leader-election-retry-period", "time between attempts")
}

func addDuration(flags *pflag.FlagSet, d *shared.Duration, name, usage string) {
	flags.DurationVar(&d.Duration.Duration, name, d.Duration.Duration, usage)
}

func seconds(n int) *shared.Duration { return shared.DurationFromTime(time.Duration(n) * time.Second) }
