package survey

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/manifest"
	"nowake.ai/svc-lb-mux/validation"
)

// Options are what a user chooses.
type Options struct {
	Lang         validation.Language
	MuxNamespace string
	MuxName      string
	PerNamespace bool
	Provider     string   // a key of the providers table, or "" to detect it by class and annotations
	KeepNumbers  bool     // more muxes, so that no number changes
	GiveUp       []string // settings and annotations that Services can do without
	Range        string   // the port-range of each mux
}

// Result is the proposal.
type Result struct {
	Before, After int // load balancers
	Muxes         []Mux
	Apart         []Apart // sorted by Service
	// Channels and OldMuxes are Services that use svc-lb-mux already.
	Channels, OldMuxes int
}

// Mux is one proposed load balancer.
type Mux struct {
	Service  *corev1.Service
	Key      types.NamespacedName
	Provider validation.Provider
	Limit    int // ports that it may have
	Members  []Member

	numbers numbers
}

// Ports returns how many ports its channels take.
func (m *Mux) Ports() int {
	n := 0
	for i := range m.Members {
		n += len(m.Members[i].From.Spec.Ports)
	}
	return n
}

// Member is a Service with a load balancer of its own, and the channel that could replace it.
type Member struct {
	From    *corev1.Service
	Channel *corev1.Service
	Ports   []Placed
}

// Placed is a port and its number on the mux.
type Placed struct {
	manifest.Port
	TakenBy string // the Service that keeps the number which this port has today; "" if it keeps its number
}

// Apart is a Service that keeps its load balancer.
type Apart struct {
	Service types.NamespacedName
	Why     string
}

// Decide groups Services that could share a load balancer, and gives each port its number there.
func Decide(services []*corev1.Service, opts Options) Result {
	var result Result
	taken := map[types.NamespacedName]bool{}
	groups := map[string]*group{}
	channels := opts.channelsOf(services)
	for _, svc := range services {
		taken[keyOf(svc)] = true
		kind := opts.Lang.Classify(svc)
		switch {
		case kind.Mux():
			result.OldMuxes++
		case kind.Channel():
			result.Channels++
		case svc.Spec.Type != corev1.ServiceTypeLoadBalancer || svc.DeletionTimestamp != nil:
		default:
			result.Before++
			if why := cmp.Or(opts.moved(svc, channels[svc.Namespace]), opts.obstacle(svc)); why != "" {
				result.Apart = append(result.Apart, Apart{keyOf(svc), why})
				continue
			}
			opts.join(groups, svc)
		}
	}
	sorted := bySize(groups)
	for _, g := range sorted {
		if len(g.members) == 1 {
			result.Apart = append(result.Apart, Apart{keyOf(g.members[0]), g.alone(sorted, opts.PerNamespace)})
			continue
		}
		opts.share(g, taken, &result)
	}
	slices.SortFunc(result.Apart, func(a, b Apart) int { return compareKeys(a.Service, b.Service) })
	result.After = len(result.Muxes) + len(result.Apart)
	return result
}

// obstacle returns why a Service can't share any load balancer, or "".
func (o *Options) obstacle(svc *corev1.Service) string {
	provider, protocols := o.providerOf(svc), protocolsOf(svc)
	switch {
	case len(svc.Spec.Selector) == 0:
		return "it has no selector: a channel beside it would lack its endpoints"
	case svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal &&
		!slices.Contains(o.GiveUp, trafficPolicy):
		return "externalTrafficPolicy Local: a mux doesn't keep the client's address (--give-up externalTrafficPolicy)"
	case !provider.CanMix && len(protocols) > 1:
		return fmt.Sprintf("%s on one load balancer: %s carries one protocol", strings.Join(protocols, " and "),
			provider.Name)
	case len(svc.Spec.Ports) > o.room(svc):
		return fmt.Sprintf("it has %s, and a mux has room for %d", cli.Count(len(svc.Spec.Ports), "port"), o.room(svc))
	}
	return ""
}

// group is the Services with equal aspects.
type group struct {
	aspects []aspect
	members []*corev1.Service
}

func (o *Options) join(groups map[string]*group, svc *corev1.Service) {
	aspects := o.aspectsOf(svc)
	key := fmt.Sprintf("%q", aspects)
	if groups[key] == nil {
		groups[key] = &group{aspects: aspects}
	}
	groups[key].members = append(groups[key].members, svc)
}

// bySize returns the largest group first. The members of a group are sorted by age: the oldest keeps its numbers.
func bySize(groups map[string]*group) []*group {
	var all []*group
	for _, g := range groups {
		slices.SortFunc(g.members, func(a, b *corev1.Service) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), compareKeys(keyOf(a), keyOf(b)))
		})
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *group) int {
		return cmp.Or(cmp.Compare(len(b.members), len(a.members)), compareKeys(keyOf(a.members[0]), keyOf(b.members[0])))
	})
	return all
}

// alone says why a group of one shares with nobody: how its load balancer differs from the
// most common one that it may share.
func (g *group) alone(sorted []*group, perNamespace bool) string {
	at := slices.IndexFunc(sorted, func(other *group) bool {
		return !perNamespace || other.members[0].Namespace == g.members[0].Namespace
	})
	common := sorted[at]
	if len(common.members) == 1 {
		return "no other Service that it may share with has the same settings"
	}
	var differ []string
	for _, a := range g.aspects {
		if !slices.Contains(common.aspects, a) {
			differ = append(differ, a.String())
		}
	}
	for _, a := range common.aspects {
		if !slices.ContainsFunc(g.aspects, func(own aspect) bool { return own.What == a.What }) {
			differ = append(differ, "no "+a.What)
		}
	}
	const shown = 2
	if more := len(differ) - shown; more > 0 {
		differ = append(differ[:shown], fmt.Sprintf("%d more", more))
	}
	return "no other Service has " + strings.Join(differ, ", ")
}

// share spreads a group over as few muxes as can hold its ports. A mux that would have one Service saves nothing.
func (o *Options) share(g *group, taken map[types.NamespacedName]bool, result *Result) {
	var muxes []*Mux
	ports := map[*Mux]int{}
	full := map[slot]int{} // with KeepNumbers: how many muxes, from the first one on, have the slot
	for _, svc := range g.members {
		room := o.room(svc) - len(svc.Spec.Ports)
		skip := 0
		if o.KeepNumbers {
			skip = skipFull(muxes, full, svc)
		}
		at := slices.IndexFunc(muxes[skip:], func(m *Mux) bool {
			return ports[m] <= room && (!o.KeepNumbers || m.numbers.areFree(svc))
		})
		if at >= 0 {
			at += skip
		}
		if at < 0 {
			at = len(muxes)
			muxes = append(muxes, o.newMux(g, svc))
		}
		muxes[at].Members = append(muxes[at].Members, Member{From: svc})
		muxes[at].numbers.count(svc)
		ports[muxes[at]] += len(svc.Spec.Ports)
	}
	for _, m := range muxes {
		without := o.place(m)
		for _, svc := range without {
			result.Apart = append(result.Apart, Apart{keyOf(svc),
				fmt.Sprintf("no number in %s is left for it: give a larger --port-range", o.Range)})
		}
		if len(m.Members) < 2 {
			for _, one := range m.Members {
				result.Apart = append(result.Apart, Apart{keyOf(one.From), o.noRoom()})
			}
			continue
		}
		o.name(m, taken)
		o.channels(m, taken)
		result.Muxes = append(result.Muxes, *m)
	}
}

// skipFull returns how many muxes, from the first one on, have a slot of the Service. It remembers where it stopped: a
// thousand Services may want one number, and each would look at every mux.
func skipFull(muxes []*Mux, full map[slot]int, svc *corev1.Service) int {
	skip := 0
	for _, port := range svc.Spec.Ports {
		at := slotOf(port, port.Port)
		for full[at] < len(muxes) && muxes[full[at]].numbers[at] != "" {
			full[at]++
		}
		skip = max(skip, full[at])
	}
	return skip
}

// noRoom says why a Service found no mux to share.
func (o *Options) noRoom() string {
	if o.KeepNumbers {
		return "the load balancers that it could share have no room, or have its numbers already"
	}
	return "the load balancer that it could share is full"
}

// channels makes the channel of each member.
func (o *Options) channels(m *Mux, taken map[types.NamespacedName]bool) {
	for i := range m.Members {
		member := &m.Members[i]
		key := keyOf(member.From)
		key.Name = unused(taken, key.Namespace, manifest.ChannelName(member.From.Name, suffix))
		var ports []manifest.Port
		for _, placed := range member.Ports {
			ports = append(ports, placed.Port)
		}
		member.Channel = manifest.Channel(o.Lang, member.From, key.Name, m.Key, ports)
	}
}

// suffix makes the name of a channel from the name of the Service beside it.
const suffix = "-mux"

// unused returns the name, or the name with the first number that makes it new, and takes it.
func unused(taken map[types.NamespacedName]bool, namespace, name string) string {
	free := name
	for i := 2; taken[types.NamespacedName{Namespace: namespace, Name: free}]; i++ {
		free = manifest.ChannelName(name, fmt.Sprintf("-%d", i))
	}
	taken[types.NamespacedName{Namespace: namespace, Name: free}] = true
	return free
}

func keyOf(svc *corev1.Service) types.NamespacedName {
	return types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
}

func compareKeys(a, b types.NamespacedName) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}
