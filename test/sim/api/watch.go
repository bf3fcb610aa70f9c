package api

import (
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Event is an event of a watch. A bookmark has no object.
type Event struct {
	Type    watch.EventType
	Object  client.Object
	Version int64
}

// List returns the selected objects of a kind at a version, and that version. Version 0 is the present. Callers must
// not change the objects. A list of the past is the answer of an API server whose watch cache is stale.
func (s *Server) List(kind Kind, selector labels.Selector, at int64) ([]client.Object, int64, error) {
	if at != 0 && at < s.compacted {
		return nil, 0, expired(at)
	}
	objects, at := s.as(kind, at)
	list := make([]client.Object, 0, len(objects))
	for _, key := range sortedKeys(objects) {
		if selector.Matches(labels.Set(objects[key].GetLabels())) {
			list = append(list, objects[key])
		}
	}
	return list, at, nil
}

func (s *Server) as(kind Kind, at int64) (map[types.NamespacedName]client.Object, int64) {
	if at == 0 || at >= s.version {
		return s.objects[kind], s.version
	}
	objects := map[types.NamespacedName]client.Object{}
	for i := range s.log {
		change := &s.log[i]
		if change.Version > at {
			break
		}
		switch {
		case change.Kind != kind:
		case change.After == nil:
			delete(objects, change.Key)
		default:
			objects[change.Key] = change.After
		}
	}
	return objects, at
}

func expired(at int64) error {
	return apierrors.NewResourceExpired("too old resource version: " + strconv.FormatInt(at, 10))
}

// Compact forgets all versions before the given one: watches from there expire.
func (s *Server) Compact(before int64) { s.compacted = max(s.compacted, min(before, s.version)) }

// Stream is a watch. Its reader pulls events, so the reader decides how far behind it is.
type Stream struct {
	server   *Server
	kind     Kind
	selector labels.Selector
	next     int   // index in the server's log
	at       int64 // version of the last event
	late     bool  // its start version was already forgotten
}

// Watch starts a watch after a version. A forgotten version is expired, even if no object of the kind changed since.
func (s *Server) Watch(kind Kind, selector labels.Selector, after int64) *Stream {
	w := &Stream{server: s, kind: kind, selector: selector, at: after, late: after < s.compacted}
	for w.next < len(s.log) && s.log[w.next].Version <= after {
		w.next++
	}
	return w
}

// Next returns the next event, or nil. At the end it can return a bookmark with the current version. It returns an
// error if the next event is forgotten: the stream is then unusable.
func (w *Stream) Next(bookmark bool) (*Event, error) {
	if w.late {
		return nil, expired(w.at)
	}
	log := w.server.log
	for ; w.next < len(log); w.next++ {
		change := &log[w.next]
		if event := w.event(change); event != nil {
			if change.Version < w.server.compacted {
				return nil, expired(w.at)
			}
			w.next++
			w.at = change.Version
			return event, nil
		}
	}
	if bookmark && w.at < w.server.version {
		w.at = w.server.version
		return &Event{Type: watch.Bookmark, Version: w.at}, nil
	}
	return nil, nil
}

// event converts a change to an event for the selector: an object that loses its label counts as deleted.
func (w *Stream) event(change *Change) *Event {
	if change.Kind != w.kind {
		return nil
	}
	was := change.Before != nil && w.selector.Matches(labels.Set(change.Before.GetLabels()))
	is := change.After != nil && w.selector.Matches(labels.Set(change.After.GetLabels()))
	event := &Event{Object: change.Object(), Version: change.Version}
	switch {
	case was && is:
		event.Type = watch.Modified
	case is:
		event.Type = watch.Added
	case was:
		event.Type = watch.Deleted
		if change.After != nil { // the event has the last state that the selector matches, at the present version
			event.Object = deepCopy(change.Before)
			event.Object.SetResourceVersion(strconv.FormatInt(change.Version, 10))
		}
	default:
		return nil
	}
	return event
}

// Waits returns whether Next has an event or an error.
func (w *Stream) Waits() bool {
	if w.late {
		return true
	}
	log := w.server.log
	for ; w.next < len(log); w.next++ {
		if w.event(&log[w.next]) != nil {
			return true
		}
	}
	return false
}
