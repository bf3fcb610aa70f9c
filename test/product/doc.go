// Package product makes svc-lb-mux from this tree, as users get it: its images and the chart. Tests and programs
// install it in a cluster of package cluster.
//
//	c := cluster.Start(t, cluster.Nodes(1, product.Archives(t)...), cluster.CertManager(), cluster.WithProvider())
//	product.Install(t, c, "webhook.replicas=1")
package product
