package console

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// settle is how long changes are gathered before anybody is told.
	settle = 150 * time.Millisecond
	// heartbeat is how often those who listen hear that we are there, and how often what nobody tells of is looked at.
	heartbeat = 2 * time.Second
	// stale is after how long a mux is looked at anew though no change of it was heard of: times pass, such as a grace.
	stale = 30 * time.Second
)

// hub keeps what was seen last of each mux, and tells those who listen what is different now. It looks when somebody asks
// or listens, and at no other time.
type hub struct {
	*Options
	started time.Time
	wake    chan struct{}

	// looking is held by the one who looks.
	looking sync.Mutex

	mu        sync.Mutex
	dirty     map[types.NamespacedName]bool
	muxes     map[types.NamespacedName]*scene
	revision  uint64
	process   []byte
	told      int // changes of the timeline
	listeners map[*listener]bool
}

// scene is a mux as it was last seen. It is replaced, never changed.
type scene struct {
	at       time.Time
	revision uint64
	head     []byte            // without its channels
	channels map[string][]byte // by namespace/name
}

func newHub(o *Options) *hub {
	return &hub{
		Options: o, started: o.Now().UTC(), wake: make(chan struct{}, 1), dirty: map[types.NamespacedName]bool{},
		muxes: map[types.NamespacedName]*scene{}, listeners: map[*listener]bool{},
	}
}

// changed notes that a mux may look different.
func (h *hub) changed(mux types.NamespacedName) {
	h.mu.Lock()
	h.dirty[mux] = true
	h.mu.Unlock()
	h.stir()
}

func (h *hub) stir() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Start tells those who listen, until the context ends.
func (h *hub) Start(ctx context.Context) error {
	if err := h.Line.News(ctx, h.Cache, h.changed); err != nil {
		return fmt.Errorf("console: %w", err)
	}
	h.Timeline.onChange(h.stir)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			h.dismiss()
			return nil
		case <-beat.C:
			h.send(nil) // dead connections are found by writing to them
		case <-h.wake:
			pause(ctx, settle)
		}
		if !h.heard() {
			h.skip()
			continue
		}
		if err := h.refresh(ctx); err != nil && ctx.Err() == nil {
			h.Log.Error(err, "what the console shows may be old")
		}
	}
}

// NeedLeaderElection is false: any replica can be looked at.
func (*hub) NeedLeaderElection() bool { return false }

func pause(ctx context.Context, span time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(span):
	}
}

// skip forgets the news of muxes that weren't seen yet while nobody listens: they are looked at anyway once somebody does, and
// their names are whatever channels make up, without end.
func (h *hub) skip() {
	if !h.looking.TryLock() {
		return // what is being seen just now may be old already
	}
	defer h.looking.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.dirty, func(mux types.NamespacedName, _ bool) bool { return h.muxes[mux] == nil })
}

func (h *hub) heard() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.listeners) > 0
}
