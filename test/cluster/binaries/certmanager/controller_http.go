package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/healthz"
	"golang.org/x/sync/errgroup"
)

// serveHTTP opens both ports before it returns, so that a port in use is an error at the start. "0" disables a port:
// components that run as processes share a machine's ports.
func (c *certController) serveHTTP(
	ctx context.Context, group *errgroup.Group, base *controller.Context, health *healthz.Server,
) error {
	if addr := c.config.MetricsListenAddress; addr != "0" {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
		if err != nil {
			return fmt.Errorf("--metrics-listen-address: %w", err)
		}
		collect(base)
		server := base.Metrics.NewServer(listener)
		group.Go(func() error { return serveUntilDone(ctx, server, listener) })
	}
	if addr := c.config.HealthzListenAddress; addr != "0" {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
		if err != nil {
			return fmt.Errorf("--internal-healthz-listen-address: %w", err)
		}
		group.Go(func() error { return health.Start(ctx, listener) })
	}
	return nil
}

// collect registers metrics of the objects. Their listers share the informers of the control loops.
func collect(base *controller.Context) {
	informers := base.SharedInformerFactory.Certmanager().V1()
	base.Metrics.SetupCertificateCollector(informers.Certificates().Lister())
	base.Metrics.SetupIssuerCollector(informers.Issuers().Lister())
	if base.Namespace == "" {
		base.Metrics.SetupClusterIssuerCollector(informers.ClusterIssuers().Lister())
	}
}

func serveUntilDone(ctx context.Context, server *http.Server, listener net.Listener) error {
	stop := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(grace)
	})
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
