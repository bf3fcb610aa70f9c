package cluster

import (
	"context"
	"net/netip"

	"nowake.ai/svc-lb-mux/test/cluster/provider"
)

// startExtras starts the optional parts beside the control plane.
func (c *Cluster) startExtras(ctx context.Context) error {
	if c.options.nodes > 0 {
		if err := c.startNodes(ctx); err != nil {
			return err
		}
	}
	if c.options.kwok {
		if err := c.startKwok(); err != nil {
			return err
		}
	}
	if c.options.provider {
		if err := c.startProvider(); err != nil {
			return err
		}
	}
	if c.options.certs {
		return c.startCertManager(ctx)
	}
	return nil
}

func (c *Cluster) startProvider() (err error) {
	var six netip.Prefix
	if haveIPv6() {
		six = PoolIPv6()
	}
	c.Provider, err = provider.Start(c.background, c.Client, PoolIPv4(), six)
	return err
}
