package fair

import (
	"runtime"
	"sync"
)

// Turns limits the processors that one namespace computes on at once: half of them, and at least one. Otherwise, four
// slow passes of one namespace could take all processors.
type Turns struct {
	share int

	mu         sync.Mutex
	namespaces map[string]*turns
}

// turns are the turns of one namespace.
type turns struct {
	free  chan struct{}
	users int // holders and waiters
}

// NewTurns returns turns for the processors of this machine.
func NewTurns() *Turns {
	return &Turns{share: max(1, runtime.GOMAXPROCS(0)/2), namespaces: map[string]*turns{}}
}

// Take waits for a turn of the namespace, and returns the function that gives it back. A turn is for computing only:
// its holder must not wait for anything.
func (t *Turns) Take(namespace string) (giveBack func()) {
	t.mu.Lock()
	of := t.namespaces[namespace]
	if of == nil {
		of = &turns{free: make(chan struct{}, t.share)}
		t.namespaces[namespace] = of
	}
	of.users++
	t.mu.Unlock()
	of.free <- struct{}{}
	return func() {
		<-of.free
		t.mu.Lock()
		defer t.mu.Unlock()
		if of.users--; of.users == 0 {
			delete(t.namespaces, namespace)
		}
	}
}
