package look

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/kube"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/validation"
)

// Ask says what a command needs of a cluster.
type Ask struct {
	Language validation.Language
	// All is true if the user wants all namespaces or an error. If it is false, and the user may not read all namespaces,
	// only Namespace is read.
	All       bool
	Namespace string
	// Now returns the time: of the clock, or of the snapshot.
	Now func() time.Time
	// Slices is true if EndpointSlices are needed. If it is false, only the EndpointSlices that help to rebuild a lost
	// ledger are read.
	Slices bool
	// Gateways is true if the Leases of gateways are needed.
	Gateways bool
	// Named are Services that are kept though they may be neither mux nor channel.
	Named []types.NamespacedName
}

// reading reads a World.
type reading struct {
	*World
	ask     Ask
	cluster *kube.Cluster
	// services and slices are the resource versions from which watches begin.
	services, slices string
}

// Read reads what a command needs. The World notes objects that the user may not read. An error means that there is no
// answer at all.
func Read(ctx context.Context, cluster *kube.Cluster, ask Ask) (*World, error) {
	r, err := read(ctx, cluster, ask)
	if err != nil {
		return nil, err
	}
	return r.World, nil
}

func read(ctx context.Context, cluster *kube.Cluster, ask Ask) (*reading, error) {
	named := func(key types.NamespacedName) bool { return slices.Contains(ask.Named, key) }
	r := &reading{World: NewWorld(ask.Language, named), ask: ask, cluster: cluster}
	for _, step := range [...]func(context.Context) error{r.readServices, r.readMuxes, r.readLedgers, r.readSlices,
		r.readListeners, r.readGateways} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *reading) readServices(ctx context.Context) (err error) {
	r.services, err = r.cluster.EachService(ctx, "", r.PutService)
	if !kube.IsForbidden(err) || r.ask.All {
		return err
	}
	r.Unread.Services, r.Unread.ServicesIn = Unavailable("Services of other namespaces", err), r.ask.Namespace
	r.Remarks = append(r.Remarks, fmt.Sprintf("You may not read the Services of all namespaces: only namespace %s is "+
		"read.", cli.Shown(r.ask.Namespace)))
	r.services, err = r.cluster.EachService(ctx, r.ask.Namespace, r.PutService)
	return err
}

// readMuxes reads one by one the muxes that channels name, and the Services of Ask.Named, if the user may not list all
// Services.
func (r *reading) readMuxes(ctx context.Context) error {
	if r.Unread.Services == "" {
		return nil
	}
	for _, mux := range append(r.Index().Muxes(), r.ask.Named...) {
		if mux.Namespace == r.Unread.ServicesIn || r.Services[mux] != nil || mux.Namespace == "" {
			continue
		}
		svc, err := r.cluster.Service(ctx, mux)
		switch {
		case kube.IsForbidden(err):
			r.Unread.Muxes[mux] = Unavailable("the Service "+mux.String(), err)
		case err != nil:
			return err
		case svc != nil:
			r.PutService(svc)
		}
	}
	return nil
}

// readLedgers reads the ConfigMaps of all muxes that were read.
func (r *reading) readLedgers(ctx context.Context) error {
	for _, mux := range r.Index().Existing() {
		if err := r.ReadLedger(ctx, r.cluster, r.Services[mux]); err != nil {
			return err
		}
	}
	return nil
}

// ReadLedger reads the ConfigMaps that a mux names as its ledger. The mux needn't exist: a ledger outlives its mux.
func (w *World) ReadLedger(ctx context.Context, cluster *kube.Cluster, svc *corev1.Service) error {
	mux := types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
	ask := record.AskOf(plan.ReadMux(w.Language, svc, false))
	wanted, old := ask.Names()
	for _, name := range [...]string{wanted, old} {
		key := types.NamespacedName{Namespace: mux.Namespace, Name: name}
		if name == "" {
			continue
		}
		delete(w.Unread.ConfigMaps, key)
		cm, err := cluster.ConfigMap(ctx, key)
		switch {
		case kube.IsForbidden(err):
			w.Unread.ConfigMaps[key] = Unavailable("the ledger of mux "+mux.String(), err)
		case err != nil:
			return err
		}
		w.ConfigMaps[key] = cm
	}
	return nil
}

// Unavailable is the sentence for objects that the user may not read.
func Unavailable(what string, err error) string {
	said := strings.TrimSuffix(cli.Sentence(err.Error()), ": ask for this right, or choose another namespace with -n")
	if _, user, told := strings.Cut(said, " is forbidden: "); told {
		said = user
	}
	return what + " (" + strings.ReplaceAll(said, " in API group \"\"", "") + ")"
}

// WhatIsUnread is the sentence about the parts of a mux that the user may not read.
func WhatIsUnread(mux string, why []string) string {
	return mux + " is shown without what you may not read: " + strings.Join(why, "; ") +
		". Ask for these rights to see all."
}

// Name adds the Service that an argument NAME or NAMESPACE/NAME names, for messages that describe it.
func (a *Ask) Name(argument string) error {
	if argument == "" {
		return nil
	}
	name, err := Name(argument)
	if err != nil {
		return err
	}
	if name.Namespace == "" {
		name.Namespace = a.Namespace
	}
	a.Named = append(a.Named, name)
	return nil
}
