package guard

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// slow is an API server that never answers, and a client that needs a moment to give up.
type slow struct {
	client.WithWatch
	asked, waiting atomic.Int32
}

func (s *slow) List(ctx context.Context, _ client.ObjectList, _ ...client.ListOption) error {
	return s.answer(ctx)
}

func (s *slow) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return s.answer(ctx)
}

func (s *slow) answer(ctx context.Context) error {
	s.asked.Add(1)
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	<-ctx.Done()
	time.Sleep(time.Second)
	return ctx.Err()
}

func TestNothingRunsAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &slow{}
		guard := New(Options{Client: server, Configuration: "mux", Namespace: "svc-mux", Certificates: []string{"mux"},
			SelfManagedSecret: "mux",
			Leading:           func() bool { return true }, Events: record.NewFakeRecorder(100),
			Metrics: prometheus.NewRegistry(), Now: time.Now})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := guard.Start(ctx); err != nil || server.asked.Load() < 3 {
			t.Errorf("%v, after %d requests", err, server.asked.Load())
		}
		if waiting := server.waiting.Load(); waiting > 0 {
			t.Errorf("%d requests are under way after the end", waiting)
		}
	})
}
