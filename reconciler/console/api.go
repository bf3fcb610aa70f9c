package console

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/console/view"
)

// describe returns the state of this process.
func (h *hub) describe() view.Process {
	return view.Process{
		Name: h.Name, Version: h.Version, Started: h.started, Leader: h.Leading(), DryRun: h.DryRun,
		Prefix: h.Language.Prefix(), Namespace: h.Language.DefaultMuxNamespace(), Admission: h.admission(),
	}
}

func (h *hub) admission() *view.Admission {
	if h.Admission == nil {
		return nil
	}
	status := h.Admission()
	admission := &view.Admission{Known: status.Known, OnGuard: status.OnGuard, Faults: []view.Fault{}}
	for _, fault := range status.Faults {
		admission.Faults = append(admission.Faults,
			view.Fault{Reason: string(fault.Reason), Object: fault.Object, Message: fault.Message})
	}
	if !status.NotAfter.IsZero() {
		end := status.NotAfter.UTC()
		admission.Expires = &end
	}
	return admission
}

// ensureFresh updates the snapshots. If the cache isn't filled yet or the update fails, it answers the request with an
// error and returns false.
func (s *server) ensureFresh(w http.ResponseWriter, r *http.Request) bool {
	within, cancel := context.WithTimeout(r.Context(), time.Second)
	defer cancel()
	if !s.Cache.WaitForCacheSync(within) {
		w.Header().Set("Retry-After", "2")
		http.Error(w, "the cache isn't filled yet: is the API server up?", http.StatusServiceUnavailable)
		return false
	}
	if err := s.hub.refresh(r.Context()); err != nil {
		s.internalError(w, err)
		return false
	}
	return true
}

func (s *server) internalError(w http.ResponseWriter, err error) {
	s.Log.Error(err, "the console can't answer a request")
	http.Error(w, "the reconciler can't answer: see its log", http.StatusInternalServerError)
}

// state serves the content of the overview.
func (s *server) state(w http.ResponseWriter, r *http.Request) {
	if !s.ensureFresh(w, r) {
		return
	}
	s.hub.mu.Lock()
	muxes := make([]json.RawMessage, 0, len(s.hub.muxes))
	for _, key := range s.hub.sorted() {
		muxes = append(muxes, s.hub.muxes[key].withChannels())
	}
	revision := s.hub.revision
	s.hub.mu.Unlock()
	timeline, _ := s.Timeline.Since(0)
	reply(w, struct {
		Schema   string `json:"schema"`
		Revision uint64 `json:"revision"`
		view.Process
		Muxes    []json.RawMessage `json:"muxes"`
		Timeline []Entry           `json:"timeline"`
	}{view.Schema, revision, s.hub.describe(), muxes, timeline})
}

// topology serves the paths of traffic.
func (s *server) topology(w http.ResponseWriter, r *http.Request) {
	if !s.ensureFresh(w, r) {
		return
	}
	muxes, err := s.topologies(r)
	if err != nil {
		s.internalError(w, err)
		return
	}
	reply(w, view.Topology{Schema: view.Schema, Muxes: muxes})
}

func (s *server) topologies(r *http.Request) ([]view.MuxTopology, error) {
	keys, err := s.Line.Spoken(r.Context())
	if err != nil {
		return nil, err
	}
	muxes := make([]view.MuxTopology, 0, len(keys))
	for _, key := range keys {
		sight, err := s.Line.Look(r.Context(), key)
		if err != nil {
			return nil, err
		}
		if sight.World.Mux != nil {
			muxes = append(muxes, view.TopologyOf(sight))
		}
	}
	return muxes, nil
}

// config serves what this console can do.
func (s *server) config(w http.ResponseWriter, _ *http.Request) {
	reply(w, struct {
		Schema   string `json:"schema"`
		Version  string `json:"version"`
		ReadOnly bool   `json:"readOnly"`
		TestTCP  bool   `json:"testTCP"`
		Traffic  bool   `json:"traffic"`
		Auth     bool   `json:"auth"`
		Stream   bool   `json:"stream"`
	}{view.Schema, s.Version, !s.Actions, s.Actions, s.Gateways != nil, s.Token != "" || s.reviews != nil, true})
}

// why serves the chain of one Service or listener, for ?service=namespace/name.
func (s *server) why(w http.ResponseWriter, r *http.Request) {
	namespace, name, ok := strings.Cut(r.URL.Query().Get("service"), "/")
	if !ok || namespace == "" || name == "" || len(namespace)+len(name) > 512 {
		http.Error(w, "ask as /api/why?service=<namespace>/<name>", http.StatusBadRequest)
		return
	}
	if !s.ensureFresh(w, r) {
		return
	}
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if mux, is := s.hub.muxOfListener(key); is {
		sight, err := s.Line.Look(r.Context(), mux)
		if err != nil {
			s.internalError(w, err)
			return
		}
		if sight.World.Mux != nil {
			reply(w, view.WhyListener(sight, key))
			return
		}
	}
	question, err := s.question(r, key)
	if err != nil {
		s.internalError(w, err)
		return
	}
	reply(w, view.Why(question))
}

func (s *server) question(r *http.Request, key types.NamespacedName) (*view.Question, error) {
	q := &view.Question{Language: s.Language, Key: key}
	var err error
	if q.Service, err = s.Line.Service(r.Context(), key); err != nil {
		return nil, err
	}
	keys, err := s.Line.Spoken(r.Context())
	if err != nil {
		return nil, err
	}
	q.Muxes = slices.DeleteFunc(keys, func(mux types.NamespacedName) bool {
		svc, err := s.Line.Service(r.Context(), mux)
		return err != nil || svc == nil || !s.Language.Classify(svc).Mux()
	})
	if q.Service == nil {
		return q, nil
	}
	mux, about := s.Line.MuxOf(q.Service)
	if !about || !s.Language.Classify(q.Service).Channel() {
		return q, nil
	}
	q.Seen, err = s.Line.Look(r.Context(), mux)
	return q, err
}

func encoded(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil { // our values can always be encoded
		return []byte("null")
	}
	return text
}

func reply(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(encoded(value), '\n')) // the client may have closed the connection
}
