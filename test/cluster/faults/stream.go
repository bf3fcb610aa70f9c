package faults

import (
	"context"
	"io"
	"net/http"
	"time"
)

// stream is the body of a watch's answer. It reads ahead, so that the API server never sees a slow client, and returns
// each event when it is due.
//
//	upstream ──► pump ──► queue of frames ──► Read (when due) ──► client
type stream struct {
	watches *watches
	request Request
	media   string // the content type, which defines the framing of events
	ctx     context.Context
	body    io.ReadCloser
	wake    chan struct{} // signals that an event may be due
	pumped  chan struct{} // closed when the upstream has ended

	rest []byte // rest of the current frame; only Read uses it

	// Guarded by watches.mu.
	queue []frame
	over  error // reason why no more frames follow
	final bool  // the proxy ended the stream: no rule delays the end, and no frame is added
}

type frame struct {
	data []byte
	came time.Time
}

// open replaces a watch's answer by one that can be held back.
func (w *watches) open(call *Call, response *http.Response) {
	s := &stream{
		watches: w,
		request: call.Request,
		media:   response.Header.Get("Content-Type"),
		ctx:     call.HTTP.Context(),
		body:    response.Body,
		wake:    make(chan struct{}, 1),
		pumped:  make(chan struct{}),
	}
	if response.Header.Get("Content-Encoding") != "" {
		s.media = "" // compressed although not requested; see rewrite
	}
	response.Body = s
	w.mu.Lock()
	w.streams[s] = struct{}{}
	w.mu.Unlock()
	go s.pump()
}

func (s *stream) pump() {
	defer close(s.pumped)
	next := framesOf(s.media, s.body)
	for {
		data, err := next()
		s.watches.mu.Lock()
		if len(data) > 0 && !s.final {
			s.queue = append(s.queue, frame{data: data, came: time.Now()})
			s.watches.arrived(s.request)
		}
		if err != nil && s.over == nil {
			s.over = err
		}
		s.poke()
		s.watches.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Read returns the next frame once it is due. It splits a frame only at the end of the buffer.
func (s *stream) Read(buffer []byte) (int, error) {
	for len(s.rest) == 0 {
		wait, err := s.advance()
		if err != nil {
			return 0, err
		}
		if len(s.rest) == 0 && !s.sleep(wait) {
			return 0, s.ctx.Err()
		}
	}
	n := copy(buffer, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// forever is the waiting time of a held frame: it waits until it is woken.
const forever = time.Duration(1<<63 - 1)

// advance takes the first frame if it is due, or returns the time to wait.
func (s *stream) advance() (time.Duration, error) {
	s.watches.mu.Lock()
	defer s.watches.mu.Unlock()
	if len(s.queue) == 0 {
		return forever, s.over
	}
	first := s.queue[0]
	due, held := s.watches.due(s.request, first.came)
	wait := time.Until(due)
	switch {
	case s.final:
	case held:
		return forever, nil
	case wait > 0:
		return wait, nil
	}
	s.rest, s.queue = first.data, s.queue[1:]
	return 0, nil
}

// sleep waits for a change, or for the given time. It returns false if the client is gone.
func (s *stream) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.wake:
	case <-s.ctx.Done():
		return false
	}
	return true
}

func (s *stream) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// cut ends the stream with err after a last frame, if there is one. The caller holds watches.mu.
func (s *stream) cut(err error, last []byte) {
	s.queue, s.over, s.final = nil, err, true
	if len(last) > 0 {
		s.queue = []frame{{data: last}}
	}
	s.poke()
}

// Close ends the upstream request.
func (s *stream) Close() error {
	err := s.body.Close()
	<-s.pumped
	s.watches.mu.Lock()
	defer s.watches.mu.Unlock()
	delete(s.watches.streams, s)
	return err
}
