package cluster

import "context"

func (c *Cluster) startExtras(ctx, background context.Context) error { return nil }
