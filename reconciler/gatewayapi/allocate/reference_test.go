package allocate

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/gatewaytest"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
)

// The reference reads objects by the docs, slowly and simply. Of the product's code it uses the ledger's format.

// slot is a number of a Gateway.
type slot struct {
	gateway  types.NamespacedName
	number   int32
	protocol string
}

// wish is what a route asks for.
type wish struct {
	gateway types.NamespacedName
	number  int32 // 0 for auto
	isBad   bool  // the number can't be read
	isOff   bool
	set     string
}

// wishOf returns what a route asks for; false for a route that asks for nothing.
func (s *stage) wishOf(route *read.Route) (wish, bool) {
	annotations := route.Object.GetAnnotations()
	named, asks := annotations[s.keys.Gateway]
	if !asks {
		return wish{}, false
	}
	var w wish
	if namespace, name, is := strings.Cut(named, "/"); is {
		w.gateway = types.NamespacedName{Namespace: namespace, Name: name}
	}
	if text := annotations[s.keys.ExternalPorts]; text != "" && text != "auto" {
		number, err := strconv.ParseInt(text, 10, 32)
		w.number, w.isBad = int32(number), err != nil
	}
	w.isOff = annotations[s.keys.Disabled] == "true"
	for _, ref := range route.Spec.ParentRefs {
		if ptr.Deref(ref.Kind, "") == "ListenerSet" && w.set == "" {
			w.set = string(ref.Name)
		}
	}
	return w, true
}

func gatewayOfSet(set *gatewayv1.ListenerSet) types.NamespacedName {
	return types.NamespacedName{Namespace: string(ptr.Deref(set.Spec.ParentRef.Namespace,
		gatewayv1.Namespace(set.Namespace))), Name: string(set.Spec.ParentRef.Name)}
}

func slotsOf(set *gatewayv1.ListenerSet) (all []slot) {
	for _, l := range set.Spec.Listeners {
		all = append(all, slot{gatewayOfSet(set), l.Port, protocolOf(l.Protocol)})
	}
	return all
}

func protocolOf(protocol gatewayv1.ProtocolType) string {
	if protocol == gatewayv1.UDPProtocolType {
		return "UDP"
	}
	return "TCP"
}

// ownerKey names a route in claims: tcproute/NAME.
func ownerKey(kind, namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: strings.ToLower(kind) + "/" + name}
}

// madeFor returns the route that a ListenerSet of ours is for; false for a ListenerSet that isn't ours.
func (s *stage) madeFor(set *gatewayv1.ListenerSet) (types.NamespacedName, bool) {
	owner := metav1.GetControllerOf(set)
	if owner == nil || owner.Kind != "TCPRoute" && owner.Kind != "UDPRoute" || set.Labels[s.keys.Managed] != "true" {
		return types.NamespacedName{}, false
	}
	return ownerKey(owner.Kind, set.Namespace, owner.Name), true
}

func (s *stage) routes() (all []*read.Route) {
	for _, route := range gatewaytest.Of[*gatewayv1.TCPRoute](s.api.Shelf) {
		r, _ := read.RouteOf(route)
		all = append(all, &r)
	}
	for _, route := range gatewaytest.Of[*gatewayv1.UDPRoute](s.api.Shelf) {
		r, _ := read.RouteOf(route)
		all = append(all, &r)
	}
	return all
}

// routeOf returns the route with an owner's name; nil if there is none.
func (s *stage) routeOf(owner types.NamespacedName) *read.Route {
	at := slices.IndexFunc(s.routes(), func(r *read.Route) bool {
		return ownerKey(r.Kind, r.Object.GetNamespace(), r.Object.GetName()) == owner
	})
	if at < 0 {
		return nil
	}
	return s.routes()[at]
}

// gives is true for a Gateway with a port-range: routes can get numbers on it.
func (s *stage) gives(gateway *gatewayv1.Gateway) bool {
	return gateway != nil && gateway.Annotations[s.keys.PortRange] != ""
}

// admits is true if a Gateway admits ListenerSets of a namespace.
func admits(shelf *gatewaytest.Shelf, gateway *gatewayv1.Gateway, namespace string) bool {
	if gateway.Spec.AllowedListeners == nil {
		return false
	}
	switch allowed := gateway.Spec.AllowedListeners.Namespaces; *allowed.From {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSame:
		return namespace == gateway.Namespace
	default:
		is := gatewaytest.Get[*corev1.Namespace](shelf, "", namespace)
		return is != nil && is.Labels["edge"] == "yes"
	}
}

// ranges returns the numbers in an annotation such as 20000-20002.
func ranges(text string) (all []int32) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	from, err1 := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	for number := from; err1 == nil && err2 == nil && number <= to; number++ {
		all = append(all, int32(number))
	}
	return all
}

// foreign are the numbers of a Gateway that its own listeners and other people's ListenerSets have.
func (s *stage) foreign(shelf *gatewaytest.Shelf, gateway types.NamespacedName) map[slot]bool {
	all := map[slot]bool{}
	if is := gatewaytest.Get[*gatewayv1.Gateway](shelf, gateway.Namespace, gateway.Name); is != nil {
		for _, l := range is.Spec.Listeners {
			all[slot{gateway, l.Port, protocolOf(l.Protocol)}] = true
		}
	}
	for _, set := range gatewaytest.Of[*gatewayv1.ListenerSet](shelf) {
		if _, isOurs := s.madeFor(set); !isOurs && gatewayOfSet(set) == gateway {
			for _, on := range slotsOf(set) {
				all[on] = true
			}
		}
	}
	return all
}

// gatewayOfLedger returns the Gateway whose ledger a ConfigMap is; false for another ConfigMap.
func gatewayOfLedger(cm *corev1.ConfigMap) (types.NamespacedName, bool) {
	name, before := strings.CutPrefix(cm.Name, "gateway-")
	name, after := strings.CutSuffix(name, "-route-allocations")
	return types.NamespacedName{Namespace: cm.Namespace, Name: name}, before && after
}

func ledgerName(gateway types.NamespacedName) string {
	return "gateway-" + gateway.Name + "-route-allocations"
}

// claimsIn returns the claims in a ledger, with their states.
func (s *stage) claimsIn(cm *corev1.ConfigMap) map[slot]plan.Claim {
	all := map[slot]plan.Claim{}
	if cm == nil {
		return all
	}
	gateway, _ := gatewayOfLedger(cm)
	for _, claim := range record.Decode(cm, read.MuxKey(gateway), s.keys).Ledger.Claims {
		all[slot{gateway, claim.Public, string(claim.Owner.Protocol)}] = claim
	}
	return all
}

// generationOf returns the generation of a ledger; 0 if it can't be read.
func (s *stage) generationOf(cm *corev1.ConfigMap) int64 {
	gateway, _ := gatewayOfLedger(cm)
	return record.Decode(cm, read.MuxKey(gateway), s.keys).Ledger.Generation
}

// stampOf returns the generation that is written on a Gateway; 0 without one.
func stampOf(s *stage, gateway *gatewayv1.Gateway) int64 {
	if gateway == nil {
		return 0
	}
	generation, _ := strconv.ParseInt(gateway.Annotations[s.keys.Generation], 10, 64)
	return generation
}

// isOutdated is true for a Gateway whose ledger is an older copy.
func (s *stage) isOutdated(gateway types.NamespacedName) bool {
	cm := s.ledgerOf(gateway)
	if cm == nil {
		return false
	}
	is := gatewaytest.Get[*gatewayv1.Gateway](s.api.Shelf, gateway.Namespace, gateway.Name)
	reading := record.Decode(cm, read.MuxKey(gateway), s.keys)
	return (reading.Condition == plan.Good || reading.Condition == plan.Edited) &&
		reading.Ledger.Generation < stampOf(s, is)
}

// ledgerOf returns a Gateway's ledger; nil if it is lost.
func (s *stage) ledgerOf(gateway types.NamespacedName) *corev1.ConfigMap {
	return gatewaytest.Get[*corev1.ConfigMap](s.api.Shelf, gateway.Namespace, ledgerName(gateway))
}
