package plan

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// target is what the mux ought to look like.
type target struct {
	ports      []corev1.ServicePort
	published  []*Claim
	change     portChange
	notes      notes
	generation int64
}

// publish is the one patch of the mux.
func (p *pass) publish(to target) {
	mux := p.w.Mux
	patch := &MuxPatch{ResourceVersion: mux.ResourceVersion, Annotations: map[string]string{}}
	if !to.change.empty() {
		patch.Ports = to.ports
		patch.Added = p.addedChannels(to.published)
		patch.Why = append(patch.Why, to.change.text()...)
	}
	told := p.annotate(patch, to.notes, to.generation)
	p.dropLeftovers(patch)
	print := p.muxPrint(&to)
	if len(patch.Why) == 0 {
		p.plan.InPlace[mux.Key] = print
		return
	}
	patch.Drift, patch.Fingerprint = p.w.InPlace[mux.Key] == print, print
	patch.Events = p.muxEvents(patch, &to.change, told)
	p.plan.Publish = patch
}

// dropLeftovers takes away what the original left.
func (p *pass) dropLeftovers(patch *MuxPatch) {
	left := p.w.Mux.Leftovers
	if left.Empty() {
		return
	}
	for _, key := range left.Annotations {
		patch.Annotations[key] = ""
	}
	patch.DropFinalizer = left.Finalizer
	patch.Why = append(patch.Why, textLeftovers(left))
}

// annotate sets what differs, and returns whether people are told anything new.
func (p *pass) annotate(patch *MuxPatch, notes notes, generation int64) bool {
	mux, keys := p.w.Mux, p.w.Keys
	set := func(differs bool, key, want string) bool {
		if differs {
			patch.Annotations[key] = want
			patch.Why = append(patch.Why, textAnnotation(key, want))
		}
		return differs
	}
	set(generation != 0 && mux.Generation != generation, keys.Generation, validation.FormatGeneration(generation))
	set(generation != 0 && mux.LedgerInForce != mux.Ledger, keys.Ledger, mux.Ledger)
	told := [...]bool{
		set(mux.Channels != notes.channels, keys.Channels, notes.channels),
		set(mux.Topology != notes.topology, keys.Topology, notes.topology),
		set(mux.Summary != notes.summary, keys.Summary, notes.summary),
		set(!slices.Equal(mux.DNS.Hostnames, p.dns.all.Hostnames),
			validation.ExternalDNSHostname, validation.FormatHostnames(p.dns.all.Hostnames)),
		set(mux.DNS.Proxied != p.dns.all.Proxied, validation.CloudflareProxied, p.dns.all.Proxied.String()),
	}
	set(!slices.Equal(mux.OurDNS.Hostnames, p.dns.ours.Hostnames) || mux.OurDNS.Proxied != p.dns.ours.Proxied,
		keys.AggregatedExternalDNS, validation.FormatAggregated(p.dns.ours))
	return slices.Contains(told[:], true)
}

// addedChannels are the channels of which a port comes to the mux, in the order in which they are to be served if there isn't
// room for all: those that have some already, then whoever was there first.
func (p *pass) addedChannels(published []*Claim) []types.NamespacedName {
	newcomer := map[types.NamespacedName]bool{}
	for _, claim := range published {
		if _, known := newcomer[claim.Owner.Channel]; !known && p.live.bySlot.at(claim.Slot()) == nil {
			newcomer[claim.Owner.Channel] = !slices.ContainsFunc(p.claimsOf(claim.Owner.Channel), func(has *Claim) bool {
				return p.live.has(has) || p.wasThere(has)
			})
		}
	}
	return slices.SortedFunc(maps.Keys(newcomer), func(a, b types.NamespacedName) int {
		if newcomer[a] != newcomer[b] {
			if newcomer[a] {
				return 1
			}
			return -1
		}
		return cmp.Or(p.created(a).Compare(p.created(b)), CompareKeys(a, b))
	})
}

// created is when a channel was; a channel that isn't to be seen was there before all others.
func (p *pass) created(channel types.NamespacedName) time.Time {
	if c := p.byKey[channel]; c != nil {
		return c.Created
	}
	return time.Time{}
}

// expectWrite has what the next pass writes on the mux be ours, though nothing changes in between: it isn't what somebody else did.
func (p *pass) expectWrite() {
	const none = Fingerprint(0)
	p.plan.InPlace[p.w.Key] = none
	if p.plan.Publish != nil {
		p.plan.Publish.Fingerprint = none
	}
}

// muxPrint goes by what is ours, whoever adds or removes other ports, and by what the owner says of the placeholder.
func (p *pass) muxPrint(to *target) Fingerprint {
	for i := range to.ports {
		port := &to.ports[i]
		if _, foreign := p.table.foreign[slotOf(port)]; !foreign {
			p.ink.add(port.Name, string(slotOf(port).Protocol), deref(port.AppProtocol))
			p.ink.number(port.Port)
		}
	}
	p.ink.number(int32(p.w.Mux.Placeholder))
	p.ink.add(string(p.w.Mux.UID), p.w.Mux.Ledger, to.notes.channels, to.notes.topology, to.notes.summary,
		validation.FormatGeneration(to.generation), validation.FormatHostnames(p.dns.all.Hostnames),
		p.dns.all.Proxied.String(), validation.FormatAggregated(p.dns.ours))
	return p.ink.take()
}
