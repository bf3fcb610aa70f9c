// Package product is svc-lb-mux as users get it, made of this tree: two images and the chart. Tests install it in a cluster
// of package cluster, and so may programs.
//
//	c := cluster.Start(t, cluster.Nodes(1, product.Archives(t)...), cluster.CertManager(), cluster.WithProvider())
//	product.Install(t, c, "webhook.replicas=1")
package product
