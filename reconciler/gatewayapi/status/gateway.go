package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
)

// Given is a Gateway as it was judged, with the results of the later steps.
type Given struct {
	*read.Served
	// Refused is why the Gateway as a whole isn't served; nil if it is.
	Refused *read.Refusal
	// Address is the mux's address.
	Address []corev1.LoadBalancerIngress
	// Numbers has an entry for each listener that asks for its number.
	Numbers map[types.NamespacedName]Number
	Now     time.Time
}

// Number is the decision of package plan about a listener's number.
type Number struct {
	// Refused is why package plan refuses the number; empty if it doesn't.
	Refused string
	// Programmed is true once the mux has the port and an address. Until then, Pending is the reason in words.
	Programmed bool
	Pending    string
	// Undecided is true until this process has decided. Until then, the status keeps its words about the number.
	Undecided bool
}

const (
	accepted   = "Accepted"
	programmed = "Programmed"
	conflicted = "Conflicted"
	resolved   = "ResolvedRefs"
)

// parentNotProgrammed is why a ListenerSet isn't Programmed. The specification has this reason, but its Go module has
// no constant for it.
const parentNotProgrammed = "ParentNotProgrammed"

// conditions collects conditions. Those that didn't change keep their time.
type conditions struct {
	all        []metav1.Condition
	generation int64
	now        metav1.Time
}

func (g *Given) conditions(before []metav1.Condition, generation int64) *conditions {
	return &conditions{slices.Clone(before), generation, metav1.NewTime(g.Now)}
}

func (c *conditions) set(kind string, is bool, reason, message string) {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&c.all,
		metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: c.generation,
			LastTransitionTime: c.now})
}

// Gateway returns the Gateway's status.
func (g *Given) Gateway() gatewayv1.GatewayStatus {
	before := g.Served.Gateway.Status
	now := gatewayv1.GatewayStatus{Addresses: addresses(g.Address), AttachedListenerSets: ptr.To(int32(0))}
	valid, invalid := 0, []string(nil)
	for i := range g.Listeners {
		l := &g.Listeners[i]
		if l.Set != nil {
			continue
		}
		conditions, fine := g.listener(l)
		if fine {
			valid++
		} else {
			invalid = append(invalid, string(l.Name))
		}
		now.Listeners = append(now.Listeners,
			gatewayv1.ListenerStatus{Name: l.Name, SupportedKinds: supported(l), AttachedRoutes: int32(l.Attached),
				Conditions: conditions})
	}
	for _, set := range g.Sets {
		if g.isAttached(set) {
			*now.AttachedListenerSets++
		}
	}
	now.Conditions = g.whole(before.Conditions, valid, invalid)
	return now
}

// whole are the conditions of the Gateway itself.
func (g *Given) whole(before []metav1.Condition, valid int, invalid []string) []metav1.Condition {
	c := g.conditions(before, g.Served.Gateway.Generation)
	switch {
	case g.Refused != nil:
		c.set(accepted, false, g.Refused.Reason, g.Refused.Message)
	case len(invalid) > 0:
		c.set(accepted, valid > 0, string(gatewayv1.GatewayReasonListenersNotValid),
			"these listeners aren't served: "+strings.Join(invalid, ", "))
	default:
		c.set(accepted, true, accepted, "")
	}
	switch {
	case meta.IsStatusConditionFalse(c.all, accepted):
		c.set(programmed, false, string(gatewayv1.GatewayReasonInvalid), "the Gateway isn't accepted")
	case len(g.Address) == 0:
		c.set(programmed, false, string(gatewayv1.GatewayReasonAddressNotAssigned),
			fmt.Sprintf("Service %s, the Gateway's mux, has no address yet", g.Mux))
	default:
		c.set(programmed, true, programmed, "")
	}
	return c.all
}

// isAttached is true for an admitted ListenerSet with at least one served listener.
func (g *Given) isAttached(set *gatewayv1.ListenerSet) bool {
	return slices.ContainsFunc(g.ListenersOf(set), func(i int) bool { return g.refusedOf(&g.Listeners[i]) == nil })
}

// refusedOf is why a listener isn't accepted; nil if it is.
func (g *Given) refusedOf(l *read.Listener) *read.Refusal {
	if refused := cmp.Or(g.Refused, l.Unsupported, l.Conflict); refused != nil {
		return refused
	}
	if len(l.Kinds) == 0 {
		return l.Unresolved
	}
	if why := g.number(l).Refused; why != "" {
		return &read.Refusal{Reason: string(gatewayv1.ListenerReasonPortUnavailable), Message: g.withSaidAdvice(l, why)}
	}
	return nil
}

// withSaidAdvice returns a refusal with the advice that the status gives already, which is the text after the last
// colon. Advice depends on the numbers of others. A channel keeps the advice in its conditions; those of a listener are
// in memory, so a process that starts would give newer advice although nothing changed.
func (g *Given) withSaidAdvice(l *read.Listener, why string) string {
	said, _ := g.said(l)
	before := meta.FindStatusCondition(said, accepted)
	at := strings.LastIndex(why, ": ")
	if at >= 0 && before != nil && before.Reason == string(gatewayv1.ListenerReasonPortUnavailable) &&
		strings.LastIndex(before.Message, ": ") == at &&
		strings.HasPrefix(before.Message, why[:at]) {
		return before.Message
	}
	return why
}

// number is the decision about a listener's number. A process that starts has decided nothing yet. Then number reads
// the decision from the status, unless the Gateway or the ListenerSet was edited since.
func (g *Given) number(l *read.Listener) Number {
	number := g.Numbers[l.Key]
	if !number.Undecided {
		return number
	}
	said, generation := g.said(l)
	if a := meta.FindStatusCondition(said, accepted); a != nil && a.ObservedGeneration == generation &&
		a.Reason == string(gatewayv1.ListenerReasonPortUnavailable) {
		number.Refused = a.Message
	}
	p := meta.FindStatusCondition(said, programmed)
	switch current := p != nil && p.ObservedGeneration == generation; {
	case current && p.Status == metav1.ConditionTrue:
		number.Programmed = true
	case current && p.Reason == string(gatewayv1.ListenerReasonPending):
		number.Pending = p.Message
	default:
		number.Pending = "the reconciler has yet to decide"
	}
	return number
}

// said returns a listener's conditions, and the present generation of the object that has them.
func (g *Given) said(l *read.Listener) (conditions []metav1.Condition, generation int64) {
	if l.Set != nil {
		for i := range l.Set.Status.Listeners {
			if s := &l.Set.Status.Listeners[i]; s.Name == l.Name {
				conditions = s.Conditions
			}
		}
		return conditions, l.Set.Generation
	}
	before := g.Served.Gateway.Status.Listeners
	for i := range before {
		if before[i].Name == l.Name {
			conditions = before[i].Conditions
		}
	}
	return conditions, g.Served.Gateway.Generation
}

// listener returns the conditions of a listener, and whether it is served.
func (g *Given) listener(l *read.Listener) ([]metav1.Condition, bool) {
	c := g.conditions(g.said(l))
	refused, number := g.refusedOf(l), g.number(l)
	switch {
	case refused == nil:
		c.set(accepted, true, accepted, "")
	case len(l.Kinds) == 0 && l.Unresolved != nil: // ResolvedRefs says why
		c.set(accepted, true, accepted, "")
	default:
		c.set(accepted, false, refused.Reason, refused.Message)
	}
	switch {
	case refused != nil && refused == l.Conflict:
		c.set(programmed, false, refused.Reason, refused.Message)
	case refused != nil:
		c.set(programmed, false, string(gatewayv1.ListenerReasonInvalid), refused.Message)
	case !number.Programmed:
		c.set(programmed, false, string(gatewayv1.ListenerReasonPending), number.Pending)
	default:
		c.set(programmed, true, programmed, "")
	}
	if l.Conflict != nil {
		c.set(conflicted, true, l.Conflict.Reason, l.Conflict.Message)
	} else {
		c.set(conflicted, false, string(gatewayv1.ListenerReasonNoConflicts), "")
	}
	if l.Unresolved != nil {
		c.set(resolved, false, l.Unresolved.Reason, l.Unresolved.Message)
	} else {
		c.set(resolved, true, resolved, "")
	}
	return c.all, refused == nil
}

func supported(l *read.Listener) []gatewayv1.RouteGroupKind {
	if l.Kinds == nil {
		return []gatewayv1.RouteGroupKind{}
	}
	return l.Kinds
}

func addresses(of []corev1.LoadBalancerIngress) (all []gatewayv1.GatewayStatusAddress) {
	for i := range of {
		if of[i].IP != "" {
			all = append(all, gatewayv1.GatewayStatusAddress{Type: ptr.To(gatewayv1.IPAddressType), Value: of[i].IP})
		} else if of[i].Hostname != "" {
			all = append(all, gatewayv1.GatewayStatusAddress{Type: ptr.To(gatewayv1.HostnameAddressType), Value: of[i].Hostname})
		}
	}
	return all
}

// ListenerSet returns the status of a ListenerSet that names the Gateway.
func (g *Given) ListenerSet(set *gatewayv1.ListenerSet) gatewayv1.ListenerSetStatus {
	c := g.conditions(set.Status.Conditions, set.Generation)
	if !g.Admits(set) {
		message := fmt.Sprintf("allowedListeners of Gateway %s/%s doesn't admit ListenerSets of namespace %s: ask its owner",
			g.Served.Gateway.Namespace,
			g.Served.Gateway.Name, set.Namespace)
		c.set(accepted, false, string(gatewayv1.ListenerSetReasonNotAllowed), message)
		c.set(programmed, false, string(gatewayv1.ListenerSetReasonNotAllowed), message)
		return gatewayv1.ListenerSetStatus{Conditions: c.all}
	}
	var now gatewayv1.ListenerSetStatus
	valid, pending, invalid := 0, "", []string(nil)
	for _, i := range g.ListenersOf(set) {
		l := &g.Listeners[i]
		conditions, fine := g.listener(l)
		if fine {
			valid++
			pending = cmp.Or(pending, g.number(l).Pending)
		} else {
			invalid = append(invalid, string(l.Name))
		}
		now.Listeners = append(now.Listeners,
			gatewayv1.ListenerEntryStatus{Name: l.Name, SupportedKinds: supported(l), AttachedRoutes: int32(l.Attached),
				Conditions: conditions})
	}
	notValid := "these listeners aren't served: " + strings.Join(invalid, ", ")
	switch {
	case g.Refused != nil:
		c.set(accepted, false, string(gatewayv1.ListenerSetReasonParentNotAccepted), "the Gateway isn't accepted")
	case len(invalid) > 0:
		c.set(accepted, valid > 0, string(gatewayv1.ListenerSetReasonListenersNotValid), notValid)
	default:
		c.set(accepted, true, accepted, "")
	}
	switch {
	case g.Refused != nil:
		c.set(programmed, false, parentNotProgrammed, "the Gateway isn't accepted")
	case valid == 0:
		c.set(programmed, false, string(gatewayv1.ListenerSetReasonListenersNotValid), notValid)
	case len(g.Address) == 0:
		c.set(programmed, false, parentNotProgrammed, "the Gateway has no address yet")
	case pending != "":
		c.set(programmed, false, string(gatewayv1.ListenerSetReasonPending), pending)
	default:
		c.set(programmed, true, programmed, "")
	}
	now.Conditions = c.all
	return now
}
