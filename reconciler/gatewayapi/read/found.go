package read

import (
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// found finds parts of a Served by name. A Gateway may have thousands of routes, each with a ListenerSet of its own: to
// look for each part among all would take the square of that time.
type found struct {
	sets        map[types.NamespacedName]bool          // the ListenerSets that name the Gateway: true if it admits them
	own         []int                                  // the Gateway's own listeners, as indexes
	ofSet       map[types.NamespacedName][]int         // the listeners of admitted ListenerSets, as indexes
	carried     map[types.NamespacedName]*Route        // the routes that listeners carry, by listener
	attachments map[types.UID][]int                    // the attachments of routes, as indexes
	grants      map[string][]*gatewayv1.ReferenceGrant // by namespace
}

func newFound(grants []*gatewayv1.ReferenceGrant) found {
	f := found{sets: map[types.NamespacedName]bool{}, ofSet: map[types.NamespacedName][]int{},
		carried:     map[types.NamespacedName]*Route{},
		attachments: map[types.UID][]int{}, grants: map[string][]*gatewayv1.ReferenceGrant{}}
	for _, g := range grants {
		f.grants[g.Namespace] = append(f.grants[g.Namespace], g)
	}
	return f
}

// Admits is true for an admitted ListenerSet.
func (s *Served) Admits(set *gatewayv1.ListenerSet) bool { return s.found.sets[keyOf(set)] }

// ListenersOf returns the listeners of an admitted ListenerSet, as indexes.
func (s *Served) ListenersOf(set *gatewayv1.ListenerSet) []int { return s.found.ofSet[keyOf(set)] }

// AttachmentsOf returns the attachments of a route, as indexes.
func (s *Served) AttachmentsOf(route *Route) []int { return s.found.attachments[route.Object.GetUID()] }

// Selected returns the listeners that a parentRef selects, as indexes: those of the Gateway, or of one of its
// ListenerSets.
func (s *Served) Selected(route *Route, ref *gatewayv1.ParentReference) (selected []int) {
	var of []int
	switch kind, key := ParentOf(route, ref); kind {
	case "Gateway":
		of = s.found.own
	case "ListenerSet":
		of = s.found.ofSet[key]
	}
	for _, i := range of {
		if l := &s.Listeners[i]; (ref.SectionName == nil || *ref.SectionName == l.Name) &&
			(ref.Port == nil || *ref.Port == l.Port) {
			selected = append(selected, i)
		}
	}
	return selected
}
