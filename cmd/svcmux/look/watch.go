package look

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/kube"
)

const (
	// quiet is how long nothing must change before lines are printed; longest is how long a burst of changes may delay
	// them.
	quiet   = 300 * time.Millisecond
	longest = 2 * time.Second
	// pause is between two watches of one kind: API servers end a watch after some minutes.
	pause = time.Second
)

// Watch prints the list that make returns, and then the lines that change, until the user ends it.
func Watch(ctx context.Context, env cli.Env, f *Flags, cluster *kube.Cluster, ask Ask,
	make func(*World) (*List, error)) error {
	shown := &watched{env: env, format: f.Output}
	return Follow(ctx, cluster, ask, 0, func(w *World) error {
		if shown.last == nil {
			Remark(env, w.Remarks)
		}
		list, err := make(w)
		if err != nil {
			return err
		}
		return shown.print(list)
	})
}

// Follow calls show with the world, again after each change, and at intervals unless every is 0. It returns when the
// user ends it, or with an error. show must not keep the world.
func Follow(ctx context.Context, cluster *kube.Cluster, ask Ask, every time.Duration, show func(*World) error) error {
	for {
		r, err := read(ctx, cluster, ask)
		if err != nil {
			return ended(ctx, err)
		}
		again, err := r.follow(ctx, every, func() error { return show(r.World) })
		if !again {
			return ended(ctx, err)
		}
	}
}

// ended is nil if the user ended the watch.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // an interrupted watch has done its work
	}
	return err
}

// follow calls show now, after changes, and at intervals unless every is 0. It returns true if the world must be read
// again.
func (r *reading) follow(ctx context.Context, every time.Duration, show func() error) (again bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, broken := make(chan watch.Event), make(chan error, 2)
	take := func(change watch.Event) {
		select {
		case changes <- change:
		case <-ctx.Done():
		}
	}
	go func() { broken <- keepOn(ctx, r.services, r.Unread.ServicesIn, take, r.cluster.WatchServices) }()
	if r.ask.Slices && r.slices != "" {
		go func() { broken <- keepOn(ctx, r.slices, r.slicesIn(), take, r.cluster.WatchSlices) }()
	}
	if err := show(); err != nil {
		return false, err
	}
	var (
		due   <-chan time.Time
		first time.Time // of the changes that aren't shown yet
	)
	var ticks <-chan time.Time
	if every > 0 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-ticks:
			if err := r.readGateways(ctx); err != nil {
				return false, err
			}
			if err := show(); err != nil {
				return false, err
			}
		case err := <-broken:
			return kube.IsExpired(err), err
		case change := <-changes:
			r.put(change)
			if due == nil {
				first = time.Now()
			}
			due = time.After(max(0, min(quiet, longest-time.Since(first))))
		case <-due:
			due = nil
			if err := r.readLedgers(ctx); err != nil {
				return false, err
			}
			if err := r.readListeners(ctx); err != nil {
				return false, err
			}
			if !r.ask.Slices { // no watch tells of them
				if err := r.readRecords(ctx); err != nil {
					return false, err
				}
			}
			if err := show(); err != nil {
				return false, err
			}
		}
	}
}

// slicesIn is the namespace whose slices are watched; empty for all.
func (r *reading) slicesIn() string {
	if r.Unread.SlicesIn == nil {
		return ""
	}
	return r.ask.Namespace
}

// keepOn watches again when the API server ends a watch.
func keepOn(ctx context.Context, from, namespace string, take func(watch.Event),
	follow func(context.Context, string, string, func(watch.Event)) (string, error)) error {
	for {
		var err error
		if from, err = follow(ctx, namespace, from, take); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// put applies a change to the world.
func (r *reading) put(change watch.Event) {
	switch object := change.Object.(type) {
	case *corev1.Service:
		if change.Type == watch.Deleted {
			delete(r.Services, types.NamespacedName{Namespace: object.Namespace, Name: object.Name})
			return
		}
		r.PutService(object)
	case *discoveryv1.EndpointSlice:
		if change.Type == watch.Deleted {
			delete(r.Slices, types.NamespacedName{Namespace: object.Namespace, Name: object.Name})
			return
		}
		r.PutSlice(object)
	}
}
