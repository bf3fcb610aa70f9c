package survey

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// aspect is a setting that a load balancer has once, for all its Services alike. Services whose aspects are equal can
// share one.
type aspect struct{ What, Value string }

func (a aspect) String() string { return a.What + ": " + cli.Shown(a.Value) }

// Settings that a user may give up for a Service, besides the keys of annotations.
const (
	trafficPolicy   = "externalTrafficPolicy"
	sessionAffinity = "sessionAffinity"
	loadBalancerIP  = "loadBalancerIP"
	ipFamilies      = "ipFamilies"
)

// aspectsOf returns a Service's aspects: fields first, in the order of importance, then annotations, sorted by key.
func (o *Options) aspectsOf(svc *corev1.Service) []aspect {
	var all []aspect
	add := func(what, value string) {
		if value != "" && !slices.Contains(o.GiveUp, what) {
			all = append(all, aspect{what, value})
		}
	}
	if o.PerNamespace {
		add("namespace", svc.Namespace)
	}
	if svc.Spec.LoadBalancerClass != nil {
		add("loadBalancerClass", *svc.Spec.LoadBalancerClass)
	}
	if provider := o.providerOf(svc); !provider.CanMix {
		add("protocol", strings.Join(protocolsOf(svc), " and "))
	}
	add("loadBalancerSourceRanges", strings.Join(rangesOf(svc), ","))
	add(loadBalancerIP, svc.Spec.LoadBalancerIP)
	if svc.Spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		add(sessionAffinity, string(corev1.ServiceAffinityClientIP))
	}
	if len(svc.Spec.IPFamilies) > 0 {
		var families []string
		for _, family := range svc.Spec.IPFamilies {
			families = append(families, string(family))
		}
		add(ipFamilies, strings.Join(families, ","))
	}
	for _, key := range slices.Sorted(maps.Keys(svc.Annotations)) {
		if isForProvider(key) {
			add(key, cmp.Or(svc.Annotations[key], `""`))
		}
	}
	return all
}

func protocolsOf(svc *corev1.Service) []string {
	var all []string
	for _, port := range svc.Spec.Ports {
		all = append(all, string(cmp.Or(port.Protocol, corev1.ProtocolTCP)))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// rangesOf returns the source ranges, sorted, from the field or else from the annotation that came before it.
func rangesOf(svc *corev1.Service) []string {
	ranges := slices.Clone(svc.Spec.LoadBalancerSourceRanges)
	if len(ranges) == 0 {
		for _, one := range strings.Split(svc.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey], ",") {
			if one = strings.TrimSpace(one); one != "" {
				ranges = append(ranges, one)
			}
		}
	}
	slices.Sort(ranges)
	return slices.Compact(ranges)
}

// isForProvider says that providers read the annotation to make a load balancer. Annotations that providers write
// themselves, and those about sharing an address, are no difference between load balancers.
func isForProvider(key string) bool {
	if key == corev1.AnnotationLoadBalancerSourceRangesKey || slices.Contains(written(), key) {
		return false
	}
	return slices.ContainsFunc(read(), func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// read returns the prefixes of annotations that providers read.
func read() []string {
	return []string{
		"cloud.google.com/", "eks.amazonaws.com/", "io.cilium/", "k8s.scaleway.com/", "kube-vip.io/",
		"kubernetes.digitalocean.com/", "lbipam.cilium.io/", "load-balancer.hetzner.cloud/", "loadbalancer.openstack.org/",
		"metallb.io/", "metallb.universe.tf/", "networking.gke.io/", "oci-network-load-balancer.oraclecloud.com/",
		"oci.oraclecloud.com/", "purelb.io/", "service.beta.kubernetes.io/", "service.kubernetes.io/ibm-load-balancer",
		"service.kubernetes.io/local-svc", "service.kubernetes.io/qcloud-",
	}
}

// written returns annotations that providers write, and those by which Services already share an address.
func written() []string {
	return []string{
		"cloud.google.com/neg", "cloud.google.com/neg-status", "kube-vip.io/vipHost",
		"kubernetes.digitalocean.com/load-balancer-id", "lbipam.cilium.io/sharing-cross-namespace",
		"lbipam.cilium.io/sharing-key", "loadbalancer.openstack.org/load-balancer-address",
		"loadbalancer.openstack.org/load-balancer-id", "metallb.io/allow-shared-ip", "metallb.io/ip-allocated-from-pool",
		"metallb.universe.tf/allow-shared-ip", "metallb.universe.tf/ip-allocated-from-pool", "purelb.io/allocated-by",
		"purelb.io/allocated-from", "purelb.io/announcing-IPv4", "purelb.io/announcing-IPv6",
	}
}
