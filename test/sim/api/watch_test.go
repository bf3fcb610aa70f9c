package api_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	kwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/test/sim/api"
)

// watches holds watches of every kind on both servers.
type watches struct {
	real     client.WithWatch
	server   *api.Server
	selector labels.Selector
	after    map[api.Kind]since
	theirs   map[api.Kind]<-chan string
	ours     map[api.Kind]*api.Stream
	told     map[api.Kind][]string // events of our server
}

// since is a version on both servers.
type since struct {
	theirs string
	ours   int64
}

// watch starts watches after the given versions, or at the present. They see a sequence's objects with the watched
// label.
func watch(t *testing.T, real client.WithWatch, server *api.Server, sequence string,
	after map[api.Kind]since) *watches {
	t.Helper()
	w := &watches{real: real, server: server,
		selector: labels.SelectorFromSet(labels.Set{"watched": "yes", "sequence": sequence}), after: after,
		theirs: map[api.Kind]<-chan string{}, ours: map[api.Kind]*api.Stream{}, told: map[api.Kind][]string{}}
	for kind := range lists() {
		from, begins := after[kind]
		if !begins {
			from.ours = server.Version()
		}
		w.theirs[kind] = w.follow(t, kind, from.theirs)
		w.ours[kind] = server.Watch(kind, w.selector, from.ours)
		w.told[kind] = []string{}
	}
	return w
}

func (w *watches) follow(t *testing.T, kind api.Kind, after string) <-chan string {
	t.Helper()
	stream, err := w.real.Watch(t.Context(), lists()[kind],
		&client.ListOptions{LabelSelector: w.selector, Raw: &metav1.ListOptions{ResourceVersion: after}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stream.Stop)
	told := make(chan string, 1000)
	go func() {
		for event := range stream.ResultChan() {
			if obj, is := event.Object.(client.Object); is {
				told <- fmt.Sprintf("%s %s", event.Type, plain(obj))
				continue
			}
			told <- fmt.Sprintf("%s %s", event.Type, reason(apierrors.FromObject(event.Object)))
		}
	}()
	return told
}

// compare waits until the real server has sent as many events as ours, and returns the differences.
func (w *watches) compare(t *testing.T) string {
	t.Helper()
	theirs := map[api.Kind][]string{}
	for kind := range w.ours {
		w.drain(t, kind, false)
		theirs[kind] = atLeast(t.Context(), w.theirs[kind], len(w.told[kind]))
	}
	return cmp.Diff(theirs, w.told)
}

// drain reads all events of our server. If asked for a bookmark, it returns the bookmark's version.
func (w *watches) drain(t *testing.T, kind api.Kind, bookmark bool) int64 {
	t.Helper()
	highest := int64(0)
	for {
		event, err := w.ours[kind].Next(bookmark)
		switch {
		case err != nil:
			t.Fatal(err)
		case event == nil:
			return 0
		case event.Version < highest:
			t.Errorf("%s: version %d comes after %d", event.Type, event.Version, highest)
		}
		if event.Type == kwatch.Bookmark {
			return event.Version
		}
		highest = event.Version
		w.told[kind] = append(w.told[kind], fmt.Sprintf("%s %s", event.Type, plain(event.Object)))
	}
}

// bookmarks returns the present bookmarks of both servers.
func (w *watches) bookmarks(t *testing.T) map[api.Kind]since {
	t.Helper()
	all := map[api.Kind]since{}
	for kind := range w.ours {
		ours := w.drain(t, kind, true)
		if ours == 0 {
			ours = w.server.Version() // without any change there is no bookmark: use the server's version
		}
		all[kind] = since{theirs: w.theirBookmark(t, kind), ours: ours}
	}
	return all
}

// theirBookmark returns the bookmark after a watch's initial events: other bookmarks come only once a minute.
func (w *watches) theirBookmark(t *testing.T, kind api.Kind) string {
	t.Helper()
	initial := true
	stream, err := w.real.Watch(t.Context(), lists()[kind],
		&client.ListOptions{LabelSelector: w.selector, Raw: &metav1.ListOptions{
			SendInitialEvents: &initial, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
			AllowWatchBookmarks: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	highest, enough := uint64(0), time.After(patience)
	for {
		select {
		case event := <-stream.ResultChan():
			obj, is := event.Object.(client.Object)
			if !is {
				t.Fatalf("%s: %+v", event.Type, event.Object)
			}
			version, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
			switch {
			case err != nil:
				t.Fatal(err)
			case event.Type != kwatch.Bookmark:
				highest = max(highest, version)
				continue
			case version < highest:
				t.Errorf("the real server sends a bookmark of %d after an event of %d", version, highest)
			}
			return obj.GetResourceVersion()
		case <-enough:
			t.Fatal("the real server sends no bookmark")
		}
	}
}

// patience is a generous timeout for steps that take milliseconds.
const patience = 10 * time.Second

// atLeast waits for n events, and returns them with all others that have arrived.
func atLeast(ctx context.Context, told <-chan string, n int) []string {
	events := []string{}
	enough := time.After(patience)
	for len(events) < n {
		select {
		case event := <-told:
			events = append(events, event)
		case <-enough:
			return events
		case <-ctx.Done():
			return events
		}
	}
	for len(told) > 0 {
		events = append(events, <-told)
	}
	return events
}
