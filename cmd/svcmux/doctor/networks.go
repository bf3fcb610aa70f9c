package doctor

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/kube"
	"nowake.ai/svc-lb-mux/reconciler/sight"
)

// Labels that keep a data plane from carrying a Service.
const (
	userDefinedNetwork = "k8s.ovn.org/primary-user-defined-network" // of a namespace
	proxyName          = "service.kubernetes.io/service-proxy-name" // of a Service
)

// networks reads which namespaces are on a primary user-defined network, if OVN-Kubernetes runs.
func (e *examination) networks(planes []running) {
	if !slices.ContainsFunc(planes, func(r running) bool { return r.plane == ovn }) {
		return
	}
	own := sets.New[string]()
	note := func(namespaces []metav1.PartialObjectMetadata) {
		for i := range namespaces {
			if _, is := namespaces[i].Labels[userDefinedNetwork]; is {
				own.Insert(namespaces[i].Name)
			}
		}
	}
	if _, err := kube.JSONPages(e.ctx, e.cluster, "/api/v1/namespaces", note); err != nil {
		e.failed("network", "Namespaces", err)
		return
	}
	e.ownNetworks = own
}

// carried checks that the data plane carries a mux. Gateways carry a mux of theirs themselves, but not pods on another
// network.
func (e *examination) carried(s *sight.Sight) {
	name, mux := cli.Shown(s.World.Key.String()), e.world.Services[s.World.Key]
	const why, wayOut = "is on a primary user-defined network, so OVN-Kubernetes", "keep muxes and channels in " +
		"namespaces on the default network (docs/providers.md)"
	byGateways := s.World.Mux != nil && s.World.Mux.Pool != ""
	if mux != nil && mux.Labels[proxyName] != "" && !byGateways {
		label := proxyName + "=" + cli.Shown(mux.Labels[proxyName])
		e.add("proxy", Warning, name+" has the label "+label+": kube-proxy and Cilium ignore the mux",
			"remove the label, unless that proxy carries the mux")
	}
	if e.ownNetworks.Has(s.World.Key.Namespace) && !byGateways {
		e.add("network", Failure, name+": its namespace "+why+" gives the mux no backends", wayOut)
	}
	channels := sets.New[string]()
	for i := range s.World.Channels {
		channels.Insert(s.World.Channels[i].Key.Namespace)
	}
	for _, namespace := range sets.List(channels.Intersection(e.ownNetworks)) {
		e.add("network", Failure, fmt.Sprintf("%s: namespace %s %s doesn't carry its part of the mux", name,
			cli.Shown(namespace), why), wayOut)
	}
}
