package selfmanaged

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
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
		keeper := New(Options{Client: server, Configuration: "mux",
			Secret: types.NamespacedName{Namespace: "svc-mux", Name: "mux"},
			Now:    time.Now, Log: logr.Discard()})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := keeper.Start(ctx); err != nil || server.asked.Load() < 3 {
			t.Errorf("%v, after %d requests", err, server.asked.Load())
		}
		if waiting := server.waiting.Load(); waiting > 0 {
			t.Errorf("%d requests are under way after the end", waiting)
		}
	})
}
