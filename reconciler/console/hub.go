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
	// settle is how long changes are collected before they are sent.
	settle = 150 * time.Millisecond
	// heartbeat is the time between signs of life to listeners. At each sign of life, the hub also looks for changes
	// without a notification.
	heartbeat = 2 * time.Second
	// maxAge is the age at which a snapshot is made again without a notification, since time passes: a grace period
	// ends, for example.
	maxAge = 30 * time.Second
)

// hub keeps a snapshot of each mux, and sends the differences to listeners. It makes snapshots only for requests and
// listeners.
type hub struct {
	*Options
	started time.Time
	wake    chan struct{}

	// refreshing is held while snapshots are made.
	refreshing sync.Mutex

	mu           sync.Mutex
	dirty        map[types.NamespacedName]bool
	muxes        map[types.NamespacedName]*snapshot
	revision     uint64
	process      []byte
	timelineSent int // number of timeline changes that were sent
	listeners    map[*listener]bool
}

// snapshot is the JSON of a mux at one time. It is replaced, never changed.
type snapshot struct {
	at       time.Time
	revision uint64
	head     []byte            // the mux without its channels
	channels map[string][]byte // by namespace/name
}

func newHub(o *Options) *hub {
	return &hub{
		Options: o, started: o.Now().UTC(), wake: make(chan struct{}, 1), dirty: map[types.NamespacedName]bool{},
		muxes: map[types.NamespacedName]*snapshot{}, listeners: map[*listener]bool{},
	}
}

// changed marks a mux for the next refresh.
func (h *hub) changed(mux types.NamespacedName) {
	h.mu.Lock()
	h.dirty[mux] = true
	h.mu.Unlock()
	h.wakeUp()
}

func (h *hub) wakeUp() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Start sends changes to listeners until the context ends.
func (h *hub) Start(ctx context.Context) error {
	if err := h.Line.News(ctx, h.Cache, h.changed); err != nil {
		return fmt.Errorf("console: %w", err)
	}
	h.Timeline.onChange(h.wakeUp)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			h.closeStreams()
			return nil
		case <-beat.C:
			h.send(nil) // a write finds dead connections
		case <-h.wake:
			pause(ctx, settle)
		}
		if !h.hasListeners() {
			h.dropUnseen()
			continue
		}
		if err := h.refresh(ctx); err != nil && ctx.Err() == nil {
			h.Log.Error(err, "the console can't update its view; it may show old data")
		}
	}
}

// NeedLeaderElection returns false: the console runs in every replica.
func (*hub) NeedLeaderElection() bool { return false }

func pause(ctx context.Context, span time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(span):
	}
}

// dropUnseen drops the marks of muxes without a snapshot while there are no listeners. The next refresh makes their
// snapshots anyway. Channels can name any number of muxes, so the marks would pile up.
func (h *hub) dropUnseen() {
	if !h.refreshing.TryLock() {
		return // a refresh is running, which may miss the change
	}
	defer h.refreshing.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.dirty, func(mux types.NamespacedName, _ bool) bool { return h.muxes[mux] == nil })
}

func (h *hub) hasListeners() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.listeners) > 0
}
