package services

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

func TestTheNextPassComesAtTheFirstTime(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	in := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	for name, test := range map[string]struct {
		times []time.Time
		want  time.Duration
	}{
		"no time":            {nil, 0},
		"zero times":         {[]time.Time{{}, {}}, 0},
		"one":                {[]time.Time{{}, in(5)}, 5 * time.Second},
		"the first of three": {[]time.Time{in(7), in(3), in(5)}, 3 * time.Second},
		"in the past":        {[]time.Time{in(-7)}, leastPause},
	} {
		if got := requeueAt(now, test.times...).RequeueAfter; got != test.want {
			t.Errorf("%s: after %s, want %s", name, got, test.want)
		}
	}
}

// refusingServer is an API server that answers each write of the mux with an error.
type refusingServer struct {
	*drainServer
	err error
}

func (r refusingServer) Patch(ctx context.Context, obj client.Object, patch client.Patch,
	options ...client.PatchOption) error {
	if _, isService := obj.(*corev1.Service); isService {
		return r.err
	}
	return r.drainServer.Patch(ctx, obj, patch, options...)
}

// TestAConflictIsNoFailure: another writer was faster, and a pass from the newer state follows soon.
func TestAConflictIsNoFailure(t *testing.T) {
	for name, test := range map[string]struct {
		err   error
		fails bool
	}{
		"a conflict":  {apierrors.NewConflict(corev1.Resource("services"), "mux", errors.New("it has changed")), false},
		"a busy time": {apierrors.NewServiceUnavailable("busy"), true},
	} {
		t.Run(name, func(t *testing.T) {
			g := newDrainServer(t, map[string]int32{"web": 20000})
			cache, server := freshCache{g}, refusingServer{g, test.err}
			line := New(Options{
				Language: g.language, Cache: cache, Live: g, Writer: server, Sources: noSlices, OnMux: noSlices,
				Metrics: uncounted{},
				Ledgers: ledger.NewStore(g.language.Keys(), cache, g, g), Board: ledger.NewBoard(nil),
				Events:  record.NewFakeRecorder(10),
				Backing: func(types.NamespacedName, types.UID) (plan.Backing, string) { return plan.Backed, "" }, Now: time.Now,
			})
			mux := client.ObjectKeyFromObject(g.services["mux"])
			result, err := line.Reconcile(t.Context(), reconcile.Request{NamespacedName: mux})
			if (err != nil) != test.fails || !test.fails && result.RequeueAfter != behindPause {
				t.Errorf("%v, %v", result, err)
			}
			if reported := line.passes[mux].failed; (reported != nil) != test.fails {
				t.Errorf("the console reports %v", reported)
			}
		})
	}
}

// TestDrainOfStraysLeavesServicesThatAreGone: the cache is behind, or the process is told to end.
func TestDrainOfStraysLeavesServicesThatAreGone(t *testing.T) {
	stray := service("1")
	stray.Annotations = map[string]string{languageOf(t).Keys().Ports: "http:80->80"}
	line := newLine(t, answering{}) // a write would panic
	line.Cache = listed{*stray}
	line.services.Delete(stray)
	if wrote, err := line.DrainStrays(t.Context()); wrote != 0 || err != nil {
		t.Errorf("of a Service that is gone: wrote %d, %v", wrote, err)
	}
	line = newLine(t, answering{})
	line.Cache = listed{*stray}
	ended, end := context.WithCancel(t.Context())
	end()
	if wrote, err := line.DrainStrays(ended); wrote != 0 || err != nil {
		t.Errorf("after the end: wrote %d, %v", wrote, err)
	}
}

// TestTheConsoleShowsRefusedSlices, unless this process doesn't write any.
func TestTheConsoleShowsRefusedSlices(t *testing.T) {
	line := newLine(t, answering{})
	look := &cached{line: line, ctx: t.Context(), uid: "one"}
	if why := look.RefusedSlices(types.NamespacedName{}); why != "" {
		t.Errorf("without slices: %q", why)
	}
	line.Backing = func(_ types.NamespacedName, mux types.UID) (plan.Backing, string) {
		return plan.NotCarried, "quota of " + string(mux)
	}
	if why := look.RefusedSlices(types.NamespacedName{}); why != "quota of one" {
		t.Errorf("got %q", why)
	}
}

// TestAStrayLosesWhatIsOurs. A Service that is gone, or has nothing of ours, isn't written.
func TestAStrayLosesWhatIsOurs(t *testing.T) {
	g := newDrainServer(t, map[string]int32{"web": 20000})
	stray := g.services["web"].DeepCopy()
	stray.Name, stray.Spec.LoadBalancerClass = "stray", nil
	g.services["stray"] = stray
	line := newLine(t, answering{})
	line.Cache, line.Writer, line.Events = freshCache{g}, g, record.NewFakeRecorder(10)
	for name, version := range map[string]string{"stray": "2", "web": "1", "gone": ""} {
		key := types.NamespacedName{Namespace: "app", Name: name}
		if _, err := (outside{line}).reconcileStray(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if svc := g.services[name]; svc != nil && svc.ResourceVersion != version {
			t.Errorf("%s has version %s, want %s", name, svc.ResourceVersion, version)
		}
	}
}
