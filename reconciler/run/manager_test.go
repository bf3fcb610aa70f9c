package run

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

// TestManagerWithoutAnAPIServerEndsAndSleeps stops a manager before its caches are filled.
func TestManagerWithoutAnAPIServerEndsAndSleeps(t *testing.T) {
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
	// A sleeping goroutine is awake only for moments, but a busy one never sleeps.
	resting := func(state string) bool { return strings.HasPrefix(state, "select") }
	for tries := 0; !slices.ContainsFunc(fillers(), resting); tries++ {
		if tries == 1000 {
			t.Fatalf("goroutines still fill caches, and keep a processor busy: %v", fillers())
		}
		time.Sleep(time.Millisecond)
	}
}

// fillers returns the states of the goroutines that wait for caches: "select" for sleeping ones.
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
