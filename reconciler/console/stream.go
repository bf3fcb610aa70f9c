package console

import (
	"bytes"
	"fmt"
	"net/http"
	"time"
)

// A stream is a list of server-sent events:
//
//	process   the process, as in /api/state
//	mux       a mux and its changed channels; at the start of a stream, each mux with all channels
//	gone      a mux that doesn't exist and that no channel names any more
//	timeline  new or changed entries
//	ready     the end of the initial state
//	beat      every two seconds, so that silence means that the stream is lost

const (
	maxListeners = 64
	// backlog is how many events a listener may be behind. With more, its stream ends, and the page connects again.
	backlog = 256
	// writeTimeout limits the time to write one event.
	writeTimeout = 10 * time.Second
)

// listener is an open stream.
type listener struct {
	events chan []byte
	gone   chan struct{} // closed to end the stream
}

// frame returns the encoded event. The data is JSON without line breaks.
func frame(event string, data []byte) []byte {
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", event, data)
}

// broadcast sends an event to all listeners. The caller holds the lock.
func (h *hub) broadcast(event string, data []byte) {
	if len(h.listeners) > 0 {
		h.deliver(frame(event, data))
	}
}

func (h *hub) deliver(event []byte) {
	for l := range h.listeners {
		select {
		case l.events <- event:
		default:
			h.removeListener(l)
		}
	}
}

// send sends an event to all listeners; nil sends a sign of life.
func (h *hub) send(event []byte) {
	if event == nil {
		event = frame("beat", []byte("{}"))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deliver(event)
}

// addListener adds a listener, and returns its initial state; nil if there are too many listeners.
func (h *hub) addListener() (*listener, []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.listeners) >= maxListeners {
		return nil, nil
	}
	l := &listener{events: make(chan []byte, backlog), gone: make(chan struct{})}
	h.listeners[l] = true
	var first bytes.Buffer
	first.Write(frame("process", h.process))
	for _, key := range h.sorted() {
		mux := h.muxes[key]
		first.Write(frame("mux", mux.changesSince(nil).json(mux.revision)))
	}
	entries, _ := h.Timeline.Since(0)
	first.Write(frame("timeline", encoded(entries)))
	first.Write(frame("ready", fmt.Appendf(nil, `{"revision":%d}`, h.revision)))
	return l, first.Bytes()
}

// removeListener removes a listener and ends its stream. The caller holds the lock.
func (h *hub) removeListener(l *listener) {
	if h.listeners[l] {
		delete(h.listeners, l)
		close(l.gone)
	}
}

// closeStreams ends all streams.
func (h *hub) closeStreams() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		h.removeListener(l)
	}
}

func (s *server) stream(w http.ResponseWriter, r *http.Request) {
	if !s.ensureFresh(w, r) {
		return
	}
	l, first := s.hub.addListener()
	if l == nil {
		w.Header().Set("Retry-After", "10")
		http.Error(w, fmt.Sprintf("%d pages are open already, the maximum: close one", maxListeners),
			http.StatusServiceUnavailable)
		return
	}
	s.metrics.streams.Inc()
	defer s.metrics.streams.Dec()
	defer func() {
		s.hub.mu.Lock()
		defer s.hub.mu.Unlock()
		s.hub.removeListener(l)
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // or an ingress would buffer the events
	to := http.NewResponseController(w)
	_ = to.SetReadDeadline(time.Time{}) // or the server would close the connection of a page that sends nothing
	for event := first; ; {
		_ = to.SetWriteDeadline(time.Now().Add(writeTimeout)) // a writer without deadlines blocks until the connection breaks
		if _, err := w.Write(event); err != nil {
			return
		}
		if err := to.Flush(); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-l.gone:
			return
		case event = <-l.events:
		}
	}
}
