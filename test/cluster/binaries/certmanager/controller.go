package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	config "github.com/cert-manager/cert-manager/pkg/apis/config/controller/v1alpha1"
	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	"github.com/cert-manager/cert-manager/pkg/healthz"
	"golang.org/x/sync/errgroup"

	// Control loops and kinds of issuers register themselves with the library.
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/metrics"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
)

// certController issues certificates. It runs all loops for Issuers, ClusterIssuers, Certificates and
// CertificateRequests.
type certController struct {
	config config.ControllerConfiguration
}

func (c *certController) run(ctx context.Context) error {
	loops, err := c.loops()
	if err != nil {
		return err
	}
	if _, err := connect(ctx, c.config.APIServerHost, c.config.KubeConfig, "controller"); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	factory, err := controller.NewContextFactory(ctx, c.contextOptions())
	if err != nil {
		return err
	}
	base, err := factory.Build()
	if err != nil {
		return err
	}
	health := healthz.NewServer(c.config.LeaderElectionConfig.HealthzTimeout.Duration.Duration)
	if err := c.serveHTTP(ctx, group, base, health); err != nil {
		return err
	}
	group.Go(func() error {
		work := func() error { return c.startLoops(ctx, group, factory, base, loops) }
		if !*c.config.LeaderElectionConfig.Enabled {
			return work()
		}
		return lead(ctx, c.config.LeaderElectionConfig.LeaderElectionConfig, base, health.LeaderHealthzAdaptor, work)
	})
	return group.Wait()
}

// startLoops returns when all loops run. The group waits for their end.
func (c *certController) startLoops(
	ctx context.Context, group *errgroup.Group,
	factory *controller.ContextFactory, base *controller.Context, names []string,
) error {
	for _, name := range names {
		loop, err := controller.Known()[name](factory)
		if err != nil {
			return fmt.Errorf("creating controller %s: %w", name, err)
		}
		group.Go(func() error {
			err := loop.Run(int(*c.config.NumberOfConcurrentWorkers), ctx)
			if err != nil && ctx.Err() == nil {
				return fmt.Errorf("controller %s: %w", name, err)
			}
			return nil
		})
	}
	// Start the informers only now: every loop has requested its informers.
	base.SharedInformerFactory.Start(ctx.Done())
	base.KubeSharedInformerFactory.Start(ctx.Done())
	return nil
}

// loops returns the names of the control loops to run, sorted.
func (c *certController) loops() ([]string, error) {
	known := slices.Sorted(maps.Keys(controller.Known()))
	if c.config.Namespace != "" {
		known = slices.DeleteFunc(known, func(name string) bool { return name == clusterissuers.ControllerName })
	}
	return choose(c.config.Controllers, known)
}
