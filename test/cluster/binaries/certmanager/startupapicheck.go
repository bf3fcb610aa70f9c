package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/cert-manager/cert-manager/pkg/util/cmapichecker"
	"github.com/spf13/pflag"
)

// checkAPI implements the chart's hook "check api --wait=1m -v". It waits until a dry-run create of a
// CertificateRequest passes both of cert-manager's webhooks.
func checkAPI(ctx context.Context, args []string) error {
	flags := pflag.NewFlagSet("startupapicheck check api", pflag.ContinueOnError)
	flags.SetOutput(os.Stdout)
	kubeconfig := flags.String("kubeconfig", "", "default: the pod's account")
	// The chart's Role allows the create only in cert-manager's namespace.
	namespace := flags.String("namespace", cmp.Or(os.Getenv("POD_NAMESPACE"), "default"), "where to try")
	patience := flags.Duration("wait", 0, "how long to try again; 0 to try once")
	verbose := flags.BoolP("verbose", "v", false, "print every new reason")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if !slices.Equal(flags.Args(), []string{"check", "api"}) {
		return fmt.Errorf("expected the words check api, got %q", flags.Args())
	}
	config, err := connect(ctx, "", *kubeconfig, "startupapicheck")
	if err != nil {
		return err
	}
	checker, err := cmapichecker.New(config, *namespace)
	if err != nil {
		return err
	}
	var reason string
	err = retry(ctx, time.Second, *patience, func(ctx context.Context) error {
		err := checker.Check(ctx)
		if *verbose && err != nil && err.Error() != reason {
			reason = err.Error()
			fmt.Fprintln(os.Stderr, "not ready:", reason)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("the cert-manager API isn't ready after %s: %w", *patience, err)
	}
	fmt.Println("The cert-manager API is ready")
	return nil
}
