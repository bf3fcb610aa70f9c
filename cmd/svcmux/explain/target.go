package explain

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/reconciler/console/view"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
)

// target is what an argument names: a Service, a listener of a Gateway, or a number of a mux.
type target struct {
	name   types.NamespacedName // without a namespace if the argument has none
	number int32                // 0 for a Service or a listener
	// listener is true if name is that of a listener among the claimants of a mux, or of a ListenerSet. Names of a
	// ListenerSet's listeners begin with its name.
	listener bool
	// protocols are those that are asked for.
	protocols []corev1.Protocol
}

// listenerSet begins the name of a ListenerSet's listener among claimants, and an argument that names the ListenerSet.
const listenerSet = "listenerset/"

func parse(argument string) (target, error) {
	if named, is := strings.CutPrefix(argument, listenerSet); is && strings.Count(named, "/") == 1 {
		set, err := look.Name(named)
		return target{name: types.NamespacedName{Namespace: set.Namespace, Name: listenerSet + set.Name}, listener: true}, err
	}
	if namespace, name, _ := strings.Cut(argument, "/"); strings.HasPrefix(name, "gateway/") ||
		strings.HasPrefix(name, listenerSet) {
		return target{name: types.NamespacedName{Namespace: namespace, Name: name}, listener: true}, nil
	}
	name, number, isNumber := strings.Cut(argument, ":")
	key, err := look.Name(name)
	if err != nil || !isNumber {
		return target{name: key}, err
	}
	number, protocol, stated := strings.Cut(number, "/")
	parsed, err := strconv.ParseUint(number, 10, 16)
	if err != nil || parsed == 0 {
		return target{}, cli.Usagef("%s: write MUX:NUMBER or MUX:NUMBER/PROTOCOL, with a number from 1 to 65535",
			cli.Shown(argument))
	}
	t := target{name: key, number: int32(parsed),
		protocols: []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}}
	if !stated {
		return t, nil
	}
	for _, known := range t.protocols {
		if strings.EqualFold(protocol, string(known)) {
			t.protocols = []corev1.Protocol{known}
			return t, nil
		}
	}
	return target{}, cli.Usagef("%s: %s is no protocol: use TCP, UDP or SCTP", cli.Shown(argument), cli.Shown(protocol))
}

// complete adds to the question what the target needs. For a Service, the question's namespace becomes that of the
// Service: a tenant may not read others.
func (t *target) complete(ask *look.Ask) {
	ask.Slices, ask.Gateways = true, true
	if t.listener {
		return
	}
	if t.number == 0 {
		if t.name.Namespace == "" {
			t.name.Namespace = ask.Namespace
		}
		ask.Namespace = t.name.Namespace
	}
	named := t.name
	if named.Namespace == "" {
		named.Namespace = ask.Namespace
	}
	ask.Named = append(ask.Named, named)
}

// needs is true if the remarks about the world matter for the target.
func (t *target) needs(*look.World) bool { return t.number != 0 }

// chains returns the chain of a Service, or of a number under each protocol that is in use.
func (t *target) chains(world *look.World, given, usual string, now time.Time) ([]view.Chain, error) {
	index := world.Index()
	if t.listener {
		return t.ofListener(index, now)
	}
	if t.number == 0 {
		chain, err := service(index, t.name, now)
		return []view.Chain{chain}, err
	}
	mux, err := index.One(t.name, given, usual)
	if err != nil {
		return nil, err
	}
	seen, err := index.Sight(mux, now)
	if err != nil {
		return nil, err
	}
	question := view.Question{Language: world.Language, Key: mux, Service: world.Services[mux], Seen: seen,
		Muxes: index.Existing()}
	find := func(key types.NamespacedName) *corev1.Service { return world.Services[key] }
	var chains []view.Chain
	for _, protocol := range t.inUse(seen) {
		chains = append(chains, view.WhyNumber(&question, plan.Slot{Number: t.number, Protocol: protocol}, find))
	}
	return chains, nil
}

// ofListener returns the chain of a listener, or those of a ListenerSet's listeners.
func (t *target) ofListener(index *look.Index, now time.Time) (chains []view.Chain, err error) {
	for _, mux := range index.Existing() {
		seen, err := index.Sight(mux, now)
		if err != nil {
			return nil, err
		}
		for i := range seen.Listeners {
			if key := seen.Listeners[i].Key; key == t.name || key.Namespace == t.name.Namespace &&
				strings.HasPrefix(key.Name, t.name.Name+"/") {
				chains = append(chains, view.WhyListener(seen, key))
			}
		}
	}
	if len(chains) > 0 {
		return chains, nil
	}
	if why := index.World.Unread.Listeners; why != "" {
		return nil, fmt.Errorf("you may not read %s: ask for this right", why)
	}
	return nil, fmt.Errorf("no Gateway that is served here has the listener %s: svcmux ports lists those that have a "+
		"number", t.name)
}

// inUse returns the protocols under which the number is in use; if there is none, the first protocol that is asked for.
func (t *target) inUse(seen *sight.Sight) []corev1.Protocol {
	var used []corev1.Protocol
	for _, line := range view.PortsOf(seen) {
		for _, protocol := range t.protocols {
			if line.Has(plan.Slot{Number: t.number, Protocol: protocol}) {
				used = append(used, protocol)
			}
		}
	}
	if len(used) == 0 {
		return t.protocols[:1]
	}
	return used
}

func service(index *look.Index, key types.NamespacedName, now time.Time) (view.Chain, error) {
	svc := index.Services[key]
	question := view.Question{Language: index.Language, Key: key, Service: svc, Muxes: index.Existing()}
	if why := index.World.Unread.Muxes[key]; svc == nil && why != "" {
		return view.Chain{}, fmt.Errorf("you may not read %s: ask for this right", why)
	}
	if kind := key.Namespace; svc == nil && (kind == "gateway" || kind == "listenerset") {
		return view.Chain{}, fmt.Errorf("there is no Service %s. A listener has the name that svcmux ports prints, such as "+
			"infra/gateway/edge/web", key)
	}
	if svc != nil && index.Language.Classify(svc).Channel() {
		mux, _ := index.Language.ParseClass(*svc.Spec.LoadBalancerClass)
		seen, err := index.Sight(mux, now)
		if err != nil {
			return view.Chain{}, err
		}
		question.Seen = seen
	}
	return view.Why(&question), nil
}
