package console

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/console/view"
	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// refresh makes new snapshots of muxes that may have changed, and sends the differences.
func (h *hub) refresh(ctx context.Context) error {
	h.refreshing.Lock()
	defer h.refreshing.Unlock()
	keys, err := h.Line.Spoken(ctx)
	if err != nil {
		return err
	}
	h.removeGone(keys)
	for _, key := range keys {
		if !h.takeDue(key) {
			continue
		}
		sight, err := h.Line.Look(ctx, key)
		if err != nil {
			h.changed(key)
			return err
		}
		next, err := snapshotOf(view.Of(sight), h.Now())
		if err != nil {
			return err
		}
		h.put(key, next)
	}
	h.sendProcess()
	h.sendTimeline()
	return nil
}

// takeDue says whether a mux needs a new snapshot, and clears its mark: later changes set the mark again.
func (h *hub) takeDue(key types.NamespacedName) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.muxes[key]
	due := last == nil || h.dirty[key] || h.Now().Sub(last.at) >= maxAge
	delete(h.dirty, key)
	return due
}

func (h *hub) removeGone(keys []types.NamespacedName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key := range h.muxes {
		if !slices.Contains(keys, key) {
			delete(h.muxes, key)
			h.revision++
			h.broadcast("gone", goneOf(key, h.revision))
		}
	}
	for key := range h.dirty {
		if !slices.Contains(keys, key) {
			delete(h.dirty, key)
		}
	}
}

func snapshotOf(mux view.Mux, at time.Time) (*snapshot, error) {
	s := &snapshot{at: at, channels: make(map[string][]byte, len(mux.Channels))}
	for i := range mux.Channels {
		channel := &mux.Channels[i]
		text, err := json.Marshal(channel)
		if err != nil {
			return nil, err
		}
		s.channels[channel.Namespace+"/"+channel.Name] = text
	}
	mux.Channels = nil
	var err error
	s.head, err = json.Marshal(mux)
	return s, err
}

// put stores a new snapshot, and sends its differences.
func (h *hub) put(key types.NamespacedName, next *snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.muxes[key]
	changes := next.changesSince(before)
	next.revision = h.revision
	if before != nil {
		next.revision = before.revision
	}
	if changes != nil {
		h.revision++
		next.revision = h.revision
		h.broadcast("mux", changes.json(h.revision))
	}
	h.muxes[key] = next
}

// muxOfListener returns the mux with a listener of that name.
func (h *hub) muxOfListener(key types.NamespacedName) (types.NamespacedName, bool) {
	if claimants.IsService(key) {
		return types.NamespacedName{}, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for mux, snapshot := range h.muxes {
		if snapshot.channels[key.String()] != nil {
			return mux, true
		}
	}
	return types.NamespacedName{}, false
}

func (h *hub) sendProcess() {
	text, err := json.Marshal(h.describe())
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !bytes.Equal(text, h.process) {
		h.process = text
		h.revision++
		h.broadcast("process", text)
	}
}

func (h *hub) sendTimeline() {
	h.mu.Lock()
	defer h.mu.Unlock()
	entries, sent := h.Timeline.Since(h.timelineSent)
	h.timelineSent = sent
	if len(entries) > 0 {
		if text, err := json.Marshal(entries); err == nil {
			h.broadcast("timeline", text)
		}
	}
}

// sorted returns the muxes that have a snapshot.
func (h *hub) sorted() []types.NamespacedName {
	keys := make([]types.NamespacedName, 0, len(h.muxes))
	for key := range h.muxes {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, plan.CompareKeys)
	return keys
}
