package console

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/console/view"
	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// refresh looks at what may be different, and tells what is.
func (h *hub) refresh(ctx context.Context) error {
	h.looking.Lock()
	defer h.looking.Unlock()
	keys, err := h.Line.Spoken(ctx)
	if err != nil {
		return err
	}
	h.forget(keys)
	for _, key := range keys {
		if !h.due(key) {
			continue
		}
		sight, err := h.Line.Look(ctx, key)
		if err != nil {
			h.changed(key)
			return err
		}
		seen := view.Seen(*sight)
		next, err := sceneOf(view.Of(&seen), h.Now())
		if err != nil {
			return err
		}
		h.put(key, next)
	}
	h.tellProcess()
	h.tellTimeline()
	return nil
}

// due is true if a mux is to be looked at; what changes from then on is due again.
func (h *hub) due(key types.NamespacedName) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.muxes[key]
	due := last == nil || h.dirty[key] || h.Now().Sub(last.at) >= stale
	delete(h.dirty, key)
	return due
}

func (h *hub) forget(keys []types.NamespacedName) {
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

func sceneOf(mux view.Mux, at time.Time) (*scene, error) {
	s := &scene{at: at, channels: make(map[string][]byte, len(mux.Channels))}
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

// put takes a new scene, and tells what is different in it.
func (h *hub) put(key types.NamespacedName, next *scene) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.muxes[key]
	news := next.since(before)
	next.revision = h.revision
	if before != nil {
		next.revision = before.revision
	}
	if news != nil {
		h.revision++
		next.revision = h.revision
		h.broadcast("mux", news.json(h.revision))
	}
	h.muxes[key] = next
}

func (h *hub) tellProcess() {
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

func (h *hub) tellTimeline() {
	h.mu.Lock()
	defer h.mu.Unlock()
	entries, told := h.Timeline.Since(h.told)
	h.told = told
	if len(entries) > 0 {
		if text, err := json.Marshal(entries); err == nil {
			h.broadcast("timeline", text)
		}
	}
}

// sorted are the muxes that were seen.
func (h *hub) sorted() []types.NamespacedName {
	keys := make([]types.NamespacedName, 0, len(h.muxes))
	for key := range h.muxes {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, plan.CompareKeys)
	return keys
}
