package cluster

import "nowake.ai/svc-lb-mux/test/cluster/binaries"

// products returns the products to build besides Kubernetes.
func (o options) products() []binaries.Product {
	var list []binaries.Product
	if o.nodes > 0 {
		list = append(list, binaries.Pod())
	}
	if o.kwok {
		list = append(list, binaries.Kwok())
	}
	if o.certs {
		list = append(list, binaries.CertManager())
	}
	if o.helm || (o.certs && o.nodes > 0) {
		list = append(list, binaries.Helm3())
	}
	return list
}
