package cluster

import "context"

func (c *Cluster) startExtras(ctx, background context.Context) error {
	if c.options.nodes > 0 {
		return c.startNodes(ctx)
	}
	return nil
}
