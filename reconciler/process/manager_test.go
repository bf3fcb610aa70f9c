package process

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// TestWhoWaitsForAnAPIServerEndsAndRests is about a manager that never gets as far as to look for its end.
func TestWhoWaitsForAnAPIServerEndsAndRests(t *testing.T) {
	p := Process{Options: DefaultOptions(func(string) string { return "" }), Config: &rest.Config{Host: "127.0.0.1:1"}}
	p.Options.Namespace = "svc-mux"
	m, err := p.manager(logr.Discard(), true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.GetCache().GetInformer(t.Context(), &corev1.Service{}, cache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.run(ctx) }()
	for len(fillers()) == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	// Whoever rests is awake for a moment now and then; whoever is busy never sleeps.
	resting := func(state string) bool { return strings.HasPrefix(state, "select") }
	for tries := 0; !slices.ContainsFunc(fillers(), resting); tries++ {
		if tries == 1000 {
			t.Fatalf("it fills its caches still, and keeps a processor busy: it is %v", fillers())
		}
		time.Sleep(time.Millisecond)
	}
}

// fillers are the states of the goroutines that wait for caches to be filled: "select" for who rests.
func fillers() []string {
	stacks := make([]byte, 1<<20)
	var states []string
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, "runnableGroup).Start(") {
			_, state, _ := strings.Cut(stack, "[")
			state, _, _ = strings.Cut(state, "]")
			states = append(states, state)
		}
	}
	return states
}
