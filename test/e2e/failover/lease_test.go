package failover

import (
	"bytes"
	"context"
	"os"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// TestLeaderStaysLeader watches the lease of two reconcilers that have the default times, on a machine that is busy
// with other tests. LEASE_WATCH says for how long: one minute unless it is set, which is four leases. `make long` sets
// an hour.
func TestLeaderStaysLeader(t *testing.T) {
	t.Parallel()
	length := time.Minute
	if text := os.Getenv("LEASE_WATCH"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatalf("LEASE_WATCH: %v", err)
		}
	}
	w := &world{cluster.Start(t)}
	_, err := w.Client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.reconcile(t)
	}
	leader := w.awaitHolder(t, "")

	ctx, end := context.WithTimeout(t.Context(), length)
	defer end()
	renewals, longest := 0, time.Duration(0)
	for last := time.Now(); ctx.Err() == nil; {
		news, err := w.Client.CoordinationV1().Leases(namespace).Watch(ctx,
			metav1.ListOptions{FieldSelector: "metadata.name=svc-mux"})
		if err != nil {
			if ctx.Err() == nil {
				t.Fatal(err)
			}
			break
		}
		for event := range news.ResultChan() {
			lease, is := event.Object.(*coordinationv1.Lease)
			if !is {
				break // the API server ends each watch at some time
			}
			if now := ptr.Deref(lease.Spec.HolderIdentity, ""); now != leader {
				t.Errorf("after %d renewals the leader is %q, want %q", renewals, now, leader)
				leader = now
			}
			renewals, longest, last = renewals+1, max(longest, time.Since(last)), time.Now()
		}
		news.Stop()
	}
	t.Logf("in %s there were %d renewals, and the longest pause between two was %s", length, renewals,
		longest.Round(time.Millisecond))
	if renewals == 0 {
		t.Error("the lease wasn't renewed")
	}
}

// reconcile runs a reconciler with the default times until the test ends.
func (w *world) reconcile(t *testing.T) {
	t.Helper()
	options := run.DefaultOptions(func(string) string { return "" })
	options.Namespace, options.LeaseName, options.ProbeAddress = namespace, "svc-mux", "127.0.0.1:0"
	options.Predecessors = "app=none"
	options.Console = "false"
	config := rest.CopyConfig(w.Config)
	config.QPS, config.Burst = -1, -1
	var log bytes.Buffer
	var done sync.WaitGroup
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done.Go(func() {
		if err := (run.Process{Options: options, Config: config, Version: "test", Logs: &log,
			Now: time.Now}).Run(ctx); err != nil {
			t.Errorf("the reconciler failed: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		done.Wait()
		if t.Failed() {
			t.Logf("reconciler's log:\n%s", log.String())
		}
	})
}
