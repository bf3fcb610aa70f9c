package plan

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/validation"
)

// target is what the mux ought to look like.
type target struct {
	ports      []corev1.ServicePort
	ranges     []validation.MuxRange
	published  []*Claim
	change     portChange
	notes      notes
	generation int64
}

// patchMux plans the one patch of the mux, if the mux differs from the target.
func (w *writing) patchMux(to target) {
	mux := w.w.Mux
	patch := &MuxPatch{ResourceVersion: mux.ResourceVersion, Annotations: map[string]string{}}
	if !to.change.empty() {
		patch.Ports = to.ports
		patch.Added = w.addedChannels(to.published)
		patch.Why = append(patch.Why, to.change.text()...)
	}
	told := w.annotate(patch, to)
	w.dropLeftovers(patch)
	if len(patch.Why) == 0 {
		return
	}
	patch.Events = w.muxEvents(&to.change, told)
	patch.Content = w.muxContent(&to)
	w.plan.Publish = patch
}

// dropLeftovers removes what the original left on the mux.
func (w *writing) dropLeftovers(patch *MuxPatch) {
	left := w.w.Mux.Leftovers
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
func (w *writing) annotate(patch *MuxPatch, to target) bool {
	mux, keys, notes, generation := w.w.Mux, w.w.Keys, to.notes, to.generation
	set := func(differs bool, key, want string) bool {
		if differs {
			patch.Annotations[key] = want
			patch.Why = append(patch.Why, textAnnotation(key, want))
		}
		return differs
	}
	set(generation != 0 && mux.Generation != generation, keys.Generation, validation.FormatGeneration(generation))
	set(generation != 0 && mux.LedgerInForce != mux.Ledger, keys.Ledger, mux.Ledger)
	set(!slices.Equal(mux.Ranges, to.ranges), keys.Ranges, validation.FormatRanges(to.ranges))
	told := []bool{
		set(mux.Channels != notes.channels, keys.Channels, notes.channels),
		set(mux.Topology != notes.topology, keys.Topology, notes.topology),
		set(mux.Summary != notes.summary, keys.Summary, notes.summary),
	}
	aggregates := false
	for i, external := range validation.ExternalDNSOnMux() {
		now, want := &mux.DNS[i], &w.dns.all[i]
		told = append(told,
			set(!slices.Equal(now.Hostnames, want.Hostnames), external.Hostname, validation.FormatHostnames(want.Hostnames)),
			set(now.Proxied != want.Proxied, external.Proxied, want.Proxied.String()))
		before, ours := &mux.OurDNS[i], &w.dns.ours[i]
		aggregates = aggregates || !slices.Equal(before.Hostnames, ours.Hostnames) || before.Proxied != ours.Proxied
	}
	set(aggregates, keys.AggregatedExternalDNS, validation.FormatAggregated(w.dns.ours))
	return slices.Contains(told, true)
}

// addedChannels returns the channels that get a port on the mux with this patch, in the order in which they are served
// if there isn't room for all: those that have ports already, then the oldest.
func (w *writing) addedChannels(published []*Claim) []types.NamespacedName {
	incumbent := map[types.NamespacedName]bool{}
	for _, claim := range published {
		key := claim.Owner.Channel
		isThere := w.onMux.has(claim) || !claim.IsRange() && w.onMux.bySlot.at(claim.Slot()) != nil
		if _, known := incumbent[key]; !known && !isThere {
			incumbent[key] = slices.ContainsFunc(w.claimsOf(key), func(has *Claim) bool {
				return w.onMux.has(has) || w.wasShown(has)
			})
		}
	}
	created := func(key types.NamespacedName) time.Time {
		if c := w.byKey[key]; c != nil {
			return c.Created
		}
		return time.Time{} // the cache doesn't show the channel, so it counts as the oldest
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

// muxContent hashes the fields of the mux that we write. An equal hash shows that a write repeats an earlier one.
func (w *writing) muxContent(to *target) uint64 {
	content := contentOf(
		string(w.w.Mux.UID), w.w.Mux.Ledger, to.notes.channels, to.notes.topology, to.notes.summary,
		validation.FormatGeneration(to.generation), validation.FormatAggregated(w.dns.ours),
		validation.FormatRanges(to.ranges),
	)
	for i := range w.dns.all {
		content = content.and(validation.FormatHostnames(w.dns.all[i].Hostnames), w.dns.all[i].Proxied.String())
	}
	for i := range to.ports {
		port := &to.ports[i]
		if _, foreign := w.foreign[SlotOf(port)]; !foreign {
			content = content.and(port.Name, strconv.Itoa(int(port.Port)), string(port.Protocol),
				ptr.Deref(port.AppProtocol, ""))
		}
	}
	return content.hash()
}
