package cluster

import (
	"runtime"
	"slices"
	"strings"
	"time"
)

// linger is the time that ending goroutines get.
const linger = 10 * time.Second

// lingering returns the stacks of controllers' and informers' goroutines that still run after all tests. A test that
// runs a process of ours within its own must wait for the end of all its goroutines.
func lingering() []string {
	for deadline := time.Now().Add(linger); ; time.Sleep(20 * time.Millisecond) {
		left := slices.DeleteFunc(stacks(), func(stack string) bool { return !ofControllers(stack) || abandoned(stack) })
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

func stacks() []string {
	text := make([]byte, 1<<20)
	for {
		n := runtime.Stack(text, true)
		if n < len(text) {
			return strings.Split(strings.TrimSpace(string(text[:n])), "\n\n")
		}
		text = make([]byte, 2*len(text))
	}
}

func ofControllers(stack string) bool {
	for _, from := range []string{
		"nowake.ai/svc-lb-mux/reconciler/run", "nowake.ai/svc-lb-mux/certs", "nowake.ai/svc-lb-mux/webhook",
		"sigs.k8s.io/controller-runtime/", "k8s.io/client-go/tools/",
	} {
		if strings.Contains(stack, from) {
			return true
		}
	}
	return false
}

// abandoned returns whether a goroutine belongs to a manager that was stopped while no API server answered. Such a
// manager never returns, so the reconciler doesn't wait for it.
func abandoned(stack string) bool {
	return strings.Contains(stack, "manager.(*runnableGroup)") || strings.Contains(stack, "run.(*processManager).run")
}
