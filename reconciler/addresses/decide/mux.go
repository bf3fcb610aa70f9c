package decide

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/validation"
)

// Mux is a Service whose class names a pool of gateways, or a Service that still has our conditions or annotation from
// when its class did.
type Mux struct {
	Key types.NamespacedName
	UID types.UID
	// Service is the parsed object. It is never changed.
	Service *corev1.Service
	// Pool is the pool that the class names. It is empty if the class is malformed, or not one of gateways.
	Pool string
	// IsMux is true for a mux on gateways. It is false for a Service that only has the class, or only our conditions.
	IsMux bool
	// Settings are the owner's. Problems say which of them can't be read.
	Settings validation.GatewaySettings
	Problems []validation.Problem
	// Shown are the addresses in the status, sorted.
	Shown []netip.Addr
	// isPlain is true if the status has nothing but addresses in the form that we write.
	isPlain bool
	// addressed, carried and carriedBy are what the Service says now.
	addressed, carried Condition
	carriedBy          string
}

// Parse parses a Service. It returns false if the gateways' controller has nothing to do with it.
func Parse(language validation.Language, svc *corev1.Service) (Mux, bool) {
	keys := language.Keys()
	pool, isOnGateways := language.GatewayPool(ptr.Deref(svc.Spec.LoadBalancerClass, ""))
	m := Mux{
		Key: types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}, UID: svc.UID, Service: svc, Pool: pool,
		Shown: claims.Shown(svc), carriedBy: svc.Annotations[keys.CarriedBy],
	}
	for _, c := range svc.Status.Conditions {
		switch c.Type {
		case keys.Addressed:
			m.addressed = Condition{c.Status, c.Reason, c.Message}
		case keys.Carried:
			m.carried = Condition{c.Status, c.Reason, c.Message}
		}
	}
	if !isOnGateways && m.addressed == (Condition{}) && m.carried == (Condition{}) && m.carriedBy == "" {
		return Mux{}, false
	}
	m.IsMux = isOnGateways && language.Classify(svc) == validation.IsMux && svc.Spec.Type == corev1.ServiceTypeLoadBalancer
	settings, found := language.ParseGateways(svc)
	m.Settings, m.Problems = settings, found.Problems
	m.isPlain = !slices.ContainsFunc(svc.Status.LoadBalancer.Ingress, func(i corev1.LoadBalancerIngress) bool {
		return i.IP == "" || i.Hostname != "" || len(i.Ports) > 0 || i.IPMode == nil ||
			*i.IPMode != corev1.LoadBalancerIPModeProxy
	})
	return m, true
}

// families are the IP families for which the mux needs an address. A mux that only prefers two families gets those of
// the pool.
func (m *Mux) families(has func(corev1.IPFamily) bool) []corev1.IPFamily {
	all := m.Service.Spec.IPFamilies
	if len(all) == 0 {
		all = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	if policy := m.Service.Spec.IPFamilyPolicy; policy != nil && *policy == corev1.IPFamilyPolicyRequireDualStack {
		return all
	}
	if some := slices.DeleteFunc(slices.Clone(all), func(f corev1.IPFamily) bool { return !has(f) }); len(some) > 0 {
		return some
	}
	return all
}

// problem returns the mistakes in the settings as one sentence.
func (m *Mux) problem() string {
	var texts []string
	for _, p := range m.Problems {
		texts = append(texts, p.Message)
	}
	return strings.Join(texts, "; ")
}

func compareAge(a, b *Mux) int {
	return cmp.Or(a.Service.CreationTimestamp.Compare(b.Service.CreationTimestamp.Time), compareKeys(a.Key, b.Key))
}

func compareKeys(a, b types.NamespacedName) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}
