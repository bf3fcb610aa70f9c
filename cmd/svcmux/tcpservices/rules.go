package tcpservices

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/manifest"
	"nowake.ai/svc-lb-mux/validation"
)

type slotKey struct {
	number   int32
	protocol corev1.Protocol
}

// rules say which entries can't be converted.
type rules struct {
	world World
	opts  Options
	mux   *validation.Mux    // nil if it isn't known
	taken map[slotKey]string // the holder of each number of the mux
	// protocol is that of the first entry that gets its number, for muxes that carry one protocol.
	protocol corev1.Protocol
}

func rulesOf(world World, opts Options) *rules {
	r := &rules{world: world, opts: opts, taken: map[slotKey]string{}}
	if world.Mux == nil {
		return r
	}
	mux, _ := opts.Lang.ParseMux(world.Mux)
	r.mux = &mux
	for _, port := range mux.Ports {
		at := slotKey{port.Port, cmp.Or(port.Protocol, corev1.ProtocolTCP)}
		r.taken[at] = fmt.Sprintf("port %s of the mux %s", cli.Shown(port.Name), opts.Mux)
	}
	r.ownNumbers()
	return r
}

// ownNumbers frees the numbers of channels that an earlier import made: they are given to the same channels again.
func (r *rules) ownNumbers() {
	for _, config := range r.world.Configs {
		good, _ := entriesOf(config)
		for _, e := range good {
			channel := r.world.Services[r.channelKey(e)]
			if channel == nil || !r.opts.Lang.Classify(channel).Channel() {
				continue
			}
			parsed, _ := r.opts.Lang.ParseChannel(channel)
			asks := func(port corev1.ServicePort) bool { return cmp.Or(port.Protocol, corev1.ProtocolTCP) == e.protocol }
			has := func(recorded validation.PortMapping) bool { return recorded.Public == e.number }
			if slices.ContainsFunc(parsed.Recorded, has) && slices.ContainsFunc(channel.Spec.Ports, asks) {
				delete(r.taken, slotKey{e.number, e.protocol})
			}
		}
	}
}

func (r *rules) channelKey(e entry) types.NamespacedName {
	return types.NamespacedName{Namespace: e.service.Namespace, Name: manifest.ChannelName(e.service.Name, r.opts.Suffix)}
}

// refuses returns why an entry can't be converted, with the way out; "" if it can.
func (r *rules) refuses(e entry) string {
	svc, target := r.world.Services[e.service], cli.Shown(e.service.String())
	switch {
	case svc == nil && r.world.Unread[e.service] != "":
		return fmt.Sprintf("Service %s can't be read: %s", target, r.world.Unread[e.service])
	case svc == nil:
		return fmt.Sprintf("Service %s can't be found: give its manifest with -f, or remove the entry", target)
	case svc.Spec.Type == corev1.ServiceTypeExternalName:
		return fmt.Sprintf("Service %s is an ExternalName, which has no pods: keep a proxy for it", target)
	case len(svc.Spec.Selector) == 0:
		return fmt.Sprintf("Service %s has no selector: write the channel and its EndpointSlices by hand", target)
	}
	if _, found := e.portOf(svc); !found {
		return fmt.Sprintf("Service %s has no port %s/%s: it has %s", target, cli.Shown(e.port), e.protocol, portsOf(svc))
	}
	if channel := r.world.Services[r.channelKey(e)]; channel != nil && !r.opts.Lang.Classify(channel).Channel() {
		return fmt.Sprintf("there is a Service %s already, which is no channel: choose another name with --suffix",
			cli.Shown(r.channelKey(e).String()))
	}
	if e.encode {
		return "its pods expect a PROXY header, and a mux sends none: make them accept connections without it, and remove " +
			"the second PROXY"
	}
	if holder := r.taken[slotKey{e.number, e.protocol}]; holder != "" {
		return fmt.Sprintf("the number collides with %s: give one of them another number", holder)
	}
	return r.refusedByMux(e)
}

// take notes that an entry gets its number.
func (r *rules) take(e entry) {
	r.taken[slotKey{e.number, e.protocol}] = "the entry of " + e.config
	r.protocol = cmp.Or(r.protocol, e.protocol)
}

// refusedByMux applies the settings of the mux.
func (r *rules) refusedByMux(e entry) string {
	switch m := r.mux; {
	case m == nil:
	case !m.Namespaces.Allows(e.service.Namespace):
		return fmt.Sprintf("the mux %s doesn't allow namespace %s: its owner can, with allowed-namespaces", r.opts.Mux,
			e.service.Namespace)
	case !m.Explicit.Contains(e.number):
		return fmt.Sprintf("the mux %s gives only the numbers %s on request: its owner can widen explicit-range", r.opts.Mux,
			m.Explicit.Brief())
	case m.Protocols.OneOnly && r.protocol != "" && r.protocol != e.protocol:
		return fmt.Sprintf("the mux %s carries one protocol, and %s comes first: use another mux for %s", r.opts.Mux,
			r.protocol, e.protocol)
	case len(r.taken) >= m.Cap.Ports:
		return fmt.Sprintf("the mux %s is full with %d ports: use another mux with --mux", r.opts.Mux, m.Cap.Ports)
	case !m.Protocols.Allowed.Has(e.protocol):
		return fmt.Sprintf("the mux %s carries %s only: use a mux for %s", r.opts.Mux, m.Protocols.Allowed, e.protocol)
	}
	return ""
}

func portsOf(svc *corev1.Service) string {
	const few = 8
	var all []string
	for _, port := range svc.Spec.Ports {
		all = append(all, fmt.Sprintf("%d/%s", port.Port, cmp.Or(port.Protocol, corev1.ProtocolTCP)))
	}
	slices.Sort(all)
	if len(all) > few {
		all = append(all[:few], "...")
	}
	return fmt.Sprint(all)
}
