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
//	mux       a mux, and its channels that are different; first each mux whole
//	gone      a mux that nobody speaks of any more
//	timeline  entries that are new, or changed
//	ready     all that was known when the stream began has been told
//	beat      every two seconds, so that silence means that the stream is lost

const (
	mostListeners = 64
	// backlog is how many events a listener may be behind before it is sent away, to come back and begin anew.
	backlog = 256
	// writePatience is how long a listener may take for one of them.
	writePatience = 10 * time.Second
)

// listener is somebody who listens.
type listener struct {
	events chan []byte
	gone   chan struct{} // closed once it is sent away
}

// frame is an event as it is sent. JSON has no line breaks of its own.
func frame(event string, data []byte) []byte {
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", event, data)
}

// broadcast hands an event to all who listen. The caller holds the lock.
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
			h.leave(l)
		}
	}
}

// send hands something to all who listen; nil is a sign of life.
func (h *hub) send(event []byte) {
	if event == nil {
		event = frame("beat", []byte("{}"))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deliver(event)
}

// join adds a listener, and returns what it is told first; nil if there are too many.
func (h *hub) join() (*listener, []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.listeners) >= mostListeners {
		return nil, nil
	}
	l := &listener{events: make(chan []byte, backlog), gone: make(chan struct{})}
	h.listeners[l] = true
	var first bytes.Buffer
	first.Write(frame("process", h.process))
	for _, key := range h.sorted() {
		mux := h.muxes[key]
		first.Write(frame("mux", mux.since(nil).json(mux.revision)))
	}
	entries, _ := h.Timeline.Since(0)
	first.Write(frame("timeline", encoded(entries)))
	first.Write(frame("ready", fmt.Appendf(nil, `{"revision":%d}`, h.revision)))
	return l, first.Bytes()
}

// leave takes a listener away. The caller holds the lock.
func (h *hub) leave(l *listener) {
	if h.listeners[l] {
		delete(h.listeners, l)
		close(l.gone)
	}
}

// dismiss sends everybody away.
func (h *hub) dismiss() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		h.leave(l)
	}
}

func (s *server) stream(w http.ResponseWriter, r *http.Request) {
	if !s.fresh(w, r) {
		return
	}
	l, first := s.hub.join()
	if l == nil {
		w.Header().Set("Retry-After", "10")
		http.Error(w, fmt.Sprintf("%d pages are open already, and no more are served: close one", mostListeners), http.StatusServiceUnavailable)
		return
	}
	s.metrics.streams.Inc()
	defer s.metrics.streams.Dec()
	defer func() {
		s.hub.mu.Lock()
		defer s.hub.mu.Unlock()
		s.hub.leave(l)
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // an ingress would wait for more
	to := http.NewResponseController(w)
	_ = to.SetReadDeadline(time.Time{}) // or the server would take a page that says nothing for gone
	for event := first; ; {
		_ = to.SetWriteDeadline(time.Now().Add(writePatience)) // one that can't have any waits for the connection to break
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
