package changes

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/dryrun"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/cmd/svcmux/validate"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
	"nowake.ai/svc-lb-mux/validation"
)

// prediction makes a Report.
type prediction struct {
	language      validation.Language
	manifests     []*corev1.Service
	problems      map[*corev1.Service][]validation.Problem // mistakes in manifests that an API server refuses
	before, after *dryrun.Cluster
	inFiles       map[types.NamespacedName]bool
	muxes         map[types.NamespacedName]bool // those that the manifests can change
	settings      map[types.NamespacedName][]Setting
	unread        map[types.NamespacedName]sight.Unread
	report        *Report
}

// Predict reconciles a copy of the cluster, applies the manifests in the files, reconciles again, and returns the
// difference. So the writes that the reconciler makes without the manifests aren't reported.
func Predict(world *look.World, files validate.Objects, now time.Time) (*Report, error) {
	p := &prediction{
		language: world.Language, manifests: files.Services, problems: files.Problems,
		before: dryrun.Copy(world, now), inFiles: map[types.NamespacedName]bool{},
		muxes: map[types.NamespacedName]bool{}, settings: map[types.NamespacedName][]Setting{},
		unread: map[types.NamespacedName]sight.Unread{},
		report: &Report{Schema: Schema, Denied: []Denied{}, Muxes: []Mux{}},
	}
	p.findMuxes()
	if err := p.noteUnread(world, now); err != nil {
		return nil, err
	}
	before, err := p.reconcile(p.before)
	if err != nil {
		return nil, err
	}
	p.after = dryrun.Copy(p.before.World, now)
	if err := p.apply(); err != nil {
		return nil, err
	}
	after, err := p.reconcile(p.after)
	if err != nil {
		return nil, err
	}
	for _, mux := range p.sortedMuxes() {
		if err := p.compare(mux, before[mux], after[mux]); err != nil {
			return nil, err
		}
	}
	p.report.count()
	return p.report, nil
}

func keyOf(svc *corev1.Service) types.NamespacedName {
	return types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
}

// muxOf returns the mux that a channel names; an empty name for another Service.
func muxOf(language validation.Language, svc *corev1.Service) types.NamespacedName {
	if svc == nil || !language.Classify(svc).Channel() {
		return types.NamespacedName{}
	}
	mux, _ := language.ParseClass(*svc.Spec.LoadBalancerClass)
	return mux
}

// findMuxes finds the muxes in the manifests, and those that channels name in the manifests or in the cluster.
func (p *prediction) findMuxes() {
	for _, manifest := range p.manifests {
		key := keyOf(manifest)
		p.inFiles[key] = true
		for _, svc := range [...]*corev1.Service{manifest, p.before.Services[key]} {
			if svc != nil && p.language.Classify(svc).Mux() {
				p.muxes[key] = true
			}
			if mux := muxOf(p.language, svc); mux.Name != "" {
				p.muxes[mux] = true
			}
		}
	}
}

func (p *prediction) sortedMuxes() []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(p.muxes), plan.CompareKeys)
}

// noteUnread notes the objects of each mux that the user may not read. It must run before the dry run, which writes
// ledgers into the copy.
func (p *prediction) noteUnread(world *look.World, now time.Time) error {
	index := world.Index()
	for mux := range p.muxes {
		seen, err := index.Sight(mux, now)
		if err != nil {
			return err
		}
		unread := seen.Unread
		if unread.Ledger == "" { // the ledger of a mux that the manifests create
			unread.Ledger = p.unreadLedger(world, mux)
		}
		p.unread[mux] = unread
	}
	return nil
}

func (p *prediction) reconcile(c *dryrun.Cluster) (map[types.NamespacedName]dryrun.Outcome, error) {
	outcomes := map[types.NamespacedName]dryrun.Outcome{}
	for _, mux := range p.sortedMuxes() {
		outcome, err := c.Reconcile(mux)
		if err != nil {
			return nil, err
		}
		outcomes[mux] = outcome
	}
	return outcomes, nil
}

// apply applies the manifests in their order, without those that would be refused.
func (p *prediction) apply() error {
	for i, manifest := range p.manifests {
		key := keyOf(manifest)
		old := p.after.Services[key]
		merged := p.after.Merged(old, manifest, i)
		denied, err := p.denial(old, manifest, merged)
		if err != nil {
			return err
		}
		if denied != nil {
			p.report.Denied = append(p.report.Denied, *denied)
			continue
		}
		if p.muxes[key] {
			p.settings[key] = changedSettings(old, merged)
		}
		p.after.PutService(merged)
	}
	return nil
}
