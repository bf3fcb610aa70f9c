package changes

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/imagine"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
)

// foretelling is a Report in the making.
type foretelling struct {
	manifests     []*corev1.Service
	before, after *imagine.Cluster
	inFiles       map[types.NamespacedName]bool
	muxes         map[types.NamespacedName]bool // those that the files can change
	unread        map[types.NamespacedName]sight.Unread
	report        *Report
}

// Foretell decides about the cluster as it is, and about the cluster with the manifests, and returns the difference. Both are taken at
// rest: the reconciler has carried out what it does anyway.
func Foretell(world *look.World, manifests []*corev1.Service, now time.Time) (*Report, error) {
	f := &foretelling{
		manifests: manifests, before: imagine.Of(world, now), inFiles: map[types.NamespacedName]bool{}, muxes: map[types.NamespacedName]bool{},
		unread: map[types.NamespacedName]sight.Unread{}, report: &Report{Schema: Schema, Denied: []Denied{}, Muxes: []Mux{}},
	}
	f.findMuxes()
	if err := f.noteUnread(world, now); err != nil {
		return nil, err
	}
	before, err := restAll(f.before, f.muxes)
	if err != nil {
		return nil, err
	}
	f.after = f.before.At(now)
	f.apply()
	after, err := restAll(f.after, f.muxes)
	if err != nil {
		return nil, err
	}
	for _, mux := range slices.SortedFunc(maps.Keys(f.muxes), plan.CompareKeys) {
		if err := f.compare(mux, before[mux], after[mux]); err != nil {
			return nil, err
		}
	}
	f.report.count()
	return f.report, nil
}

func keyOf(svc *corev1.Service) types.NamespacedName {
	return types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
}

// findMuxes finds the muxes that manifests are, and those that their channels name, now or then.
func (f *foretelling) findMuxes() {
	for _, manifest := range f.manifests {
		key := keyOf(manifest)
		f.inFiles[key] = true
		for _, svc := range [...]*corev1.Service{manifest, f.before.Services[key]} {
			if svc == nil {
				continue
			}
			kind := f.before.Language.Classify(svc)
			if kind.Mux() {
				f.muxes[key] = true
			}
			if kind.Channel() {
				if mux, _ := f.before.Language.ParseClass(*svc.Spec.LoadBalancerClass); mux.Name != "" {
					f.muxes[mux] = true
				}
			}
		}
	}
}

// noteUnread notes what the user may not read of each mux, before the copy has imagined ledgers.
func (f *foretelling) noteUnread(world *look.World, now time.Time) error {
	index := world.Index()
	for mux := range f.muxes {
		seen, err := index.Sight(mux, now)
		if err != nil {
			return err
		}
		unread := seen.Unread
		if unread.Ledger == "" { // the ledger of a mux that the files create
			unread.Ledger = f.unreadLedger(world, mux)
		}
		f.unread[mux] = unread
	}
	return nil
}

func restAll(c *imagine.Cluster, muxes map[types.NamespacedName]bool) (map[types.NamespacedName]imagine.State, error) {
	states := map[types.NamespacedName]imagine.State{}
	for _, mux := range slices.SortedFunc(maps.Keys(muxes), plan.CompareKeys) {
		state, err := c.Rest(mux)
		if err != nil {
			return nil, err
		}
		states[mux] = state
	}
	return states, nil
}

// apply puts the manifests into the copy, in their order. Those that would be refused are left out.
func (f *foretelling) apply() {
	for i, manifest := range f.manifests {
		key := keyOf(manifest)
		old := f.after.Services[key]
		merged := f.after.Merged(old, manifest, i)
		if denied := f.denial(old, merged); denied != nil {
			f.report.Denied = append(f.report.Denied, *denied)
			continue
		}
		f.after.PutService(merged)
	}
}

// denial says why the API server or admission refuses a Service; nil if they take it.
func (f *foretelling) denial(old, merged *corev1.Service) *Denied {
	name := merged.Namespace + "/" + merged.Name
	class := func(svc *corev1.Service) string {
		if svc == nil || svc.Spec.Type != corev1.ServiceTypeLoadBalancer || svc.Spec.LoadBalancerClass == nil {
			return ""
		}
		return *svc.Spec.LoadBalancerClass
	}
	switch was, is := class(old), class(merged); {
	case merged.Name == "":
		return &Denied{merged.Namespace + "/" + cmp.Or(merged.GenerateName, "?"), "NoName", "it has no metadata.name, which kubectl apply needs: name it"}
	case old != nil && old.Spec.Type == corev1.ServiceTypeLoadBalancer && merged.Spec.Type == corev1.ServiceTypeLoadBalancer && was != is:
		return &Denied{name, "ClassImmutable", "spec.loadBalancerClass is " + orNone(was) + " and can't become " + orNone(is) + ": delete the Service, and create it again"}
	}
	verdict := f.after.Language.Review(old, merged)
	if len(verdict.Denied) == 0 {
		return nil
	}
	return &Denied{name, string(verdict.Denied[0].Reason), messagesOf(verdict.Denied)}
}

func orNone(text string) string { return cmp.Or(text, "none") }
