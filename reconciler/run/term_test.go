package run

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// TestTermRemovesItsEventHandlers checks the end of a term: the process's caches outlive it, so its handlers must be
// removed.
func TestTermRemovesItsEventHandlers(t *testing.T) {
	counted := &countingInformer{}
	term := &termCache{Cache: oneInformer{informer: counted}}
	informer, err := term.GetInformer(t.Context(), &corev1.Service{})
	if err != nil {
		t.Fatal(err)
	}
	add := func() error {
		_, err := informer.AddEventHandlerWithOptions(toolscache.ResourceEventHandlerFuncs{}, toolscache.HandlerOptions{})
		return err
	}
	for range 2 {
		if err := add(); err != nil {
			t.Fatal(err)
		}
	}
	if counted.handlers != 2 {
		t.Errorf("%d handlers while the term runs, want 2", counted.handlers)
	}
	term.close()
	if counted.handlers != 0 {
		t.Errorf("%d handlers after the term has ended", counted.handlers)
	}
	if add() == nil {
		t.Error("an ended term adds a handler")
	}
}

// TestATermMayRebuildLedgersAfterTheWait: until then, another process may believe that it still leads.
func TestATermMayRebuildLedgersAfterTheWait(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first := &term{manager: ending{}, cache: &termCache{}}
	if !first.mayRebuildFrom().IsZero() {
		t.Errorf("before it begins, it waits until %s", first.mayRebuildFrom())
	}
	built := 0
	terms, err := newTerms(func() time.Time { return now }, 5*time.Second, &listenerNews{}, func() (*term, error) {
		built++
		if built == 1 {
			return first, nil
		}
		return &term{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := terms.work(t.Context()); err != nil {
		t.Fatal(err)
	}
	if from := first.mayRebuildFrom(); !from.Equal(now.Add(5 * time.Second)) {
		t.Errorf("it waits until %s", from)
	}
}

// ending is a manager whose work is over at once.
type ending struct{ manager.Manager }

func (ending) Start(context.Context) error { return nil }

// oneInformer is a cache with one informer.
type oneInformer struct {
	cache.Cache
	informer cache.Informer
}

func (o oneInformer) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return o.informer, nil
}

// countingInformer counts its handlers.
type countingInformer struct {
	cache.Informer
	handlers int
}

func (c *countingInformer) AddEventHandlerWithOptions(toolscache.ResourceEventHandler, toolscache.HandlerOptions) (
	toolscache.ResourceEventHandlerRegistration, error) {
	c.handlers++
	return nil, nil
}

func (c *countingInformer) RemoveEventHandler(toolscache.ResourceEventHandlerRegistration) error {
	c.handlers--
	return nil
}
