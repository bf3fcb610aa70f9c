package plan

import (
	"cmp"
	"fmt"
	"hash/fnv"
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
	if len(patch.Why) == 0 {
		return
	}
	patch.Events = p.muxEvents(&to.change, told)
	patch.Content = p.muxContent(&to)
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

// annotate sets the annotations that differ, and returns whether one of them is for people.
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

// addedChannels are the channels of which a port comes to the mux, in the order in which they are served if there isn't room for all:
// those that have ports already, then the oldest.
func (p *pass) addedChannels(published []*Claim) []types.NamespacedName {
	incumbent := map[types.NamespacedName]bool{}
	for _, claim := range published {
		key := claim.Owner.Channel
		if _, known := incumbent[key]; !known && p.live.bySlot.at(claim.Slot()) == nil {
			incumbent[key] = slices.ContainsFunc(p.claimsOf(key), func(has *Claim) bool { return p.live.has(has) || p.wasShown(has) })
		}
	}
	created := func(key types.NamespacedName) time.Time {
		if c := p.byKey[key]; c != nil {
			return c.Created
		}
		return time.Time{} // it isn't in the cache, so it is an old one
	}
	return slices.SortedFunc(maps.Keys(incumbent), func(a, b types.NamespacedName) int {
		if incumbent[a] != incumbent[b] {
			if incumbent[a] {
				return -1
			}
			return 1
		}
		return cmp.Or(created(a).Compare(created(b)), CompareKeys(a, b))
	})
}

// muxContent identifies our part of the mux.
func (p *pass) muxContent(to *target) uint64 {
	hash := fnv.New64a()
	for i := range to.ports {
		port := &to.ports[i]
		if _, foreign := p.foreign[slotOf(port)]; !foreign {
			_, _ = fmt.Fprintln(hash, port.Name, slotOf(port), deref(port.AppProtocol))
		}
	}
	_, _ = fmt.Fprintf(hash, "%q", []string{
		string(p.w.Mux.UID), p.w.Mux.Ledger, to.notes.channels, to.notes.topology, to.notes.summary,
		validation.FormatGeneration(to.generation), validation.FormatHostnames(p.dns.all.Hostnames), p.dns.all.Proxied.String(),
		validation.FormatAggregated(p.dns.ours),
	})
	return hash.Sum64()
}
