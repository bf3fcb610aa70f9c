package fair

import (
	"runtime"
	"sync"
)

// Turns bounds how much of the machine one namespace computes on at once: half of the processors, and at least one. A
// pass that computes for long would otherwise have all of them together with three others of its namespace.
type Turns struct {
	share int

	mu         sync.Mutex
	namespaces map[string]*turns
}

// turns are those of one namespace.
type turns struct {
	free  chan struct{}
	users int // holders and those that wait
}

// NewTurns returns turns for the processors that there are.
func NewTurns() *Turns {
	return &Turns{share: max(1, runtime.GOMAXPROCS(0)/2), namespaces: map[string]*turns{}}
}

// Take waits for a turn of the namespace, and returns what gives it back. A turn is for computing alone: its
// holder doesn't wait for anything else.
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
