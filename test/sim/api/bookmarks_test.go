package api_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	kwatch "k8s.io/apimachinery/pkg/watch"

	"nowake.ai/svc-lb-mux/test/sim/api"
)

// TestWatchResumesFromABookmark reads watches at random times, with and without bookmarks. A bookmark's version must
// mean that all events up to it were sent. A watch from that version must send the same later events as the first
// watch.
func TestWatchResumesFromABookmark(t *testing.T) {
	for seed := range uint64(200) {
		server := api.NewServer(time.Now)
		server.Admit = admit
		side := newSide(t, &api.Client{Server: server}, "a")
		g := &requests{Rand: rand.New(rand.NewPCG(seed, 2))}
		readers := map[api.Kind]*reader{}
		for kind := range lists() {
			readers[kind] = newReader(server, kind, labels.SelectorFromSet(labels.Set{"watched": "yes"}))
		}
		for range length {
			side.ask(g.next())
			readers[pick(g, api.Services, api.ConfigMaps, api.EndpointSlices)].read(t, g.IntN(4), g.IntN(2) == 0)
		}
		for kind, r := range readers {
			r.read(t, length*2, false)
			for _, mark := range r.marks {
				if diff := cmp.Diff(r.told[mark.told:], read(mark.resumed)); diff != "" {
					t.Errorf("seed %d: %s: the first watch (-) and the one from its bookmark (+) saw after %d:\n%s", seed, kind,
						mark.version, diff)
				}
			}
		}
	}
}

// reader reads a watch, and starts another watch at each bookmark.
type reader struct {
	server   *api.Server
	kind     api.Kind
	selector labels.Selector
	stream   *api.Stream
	at       int64
	told     []string
	marks    []mark
}

type mark struct {
	version int64
	told    int // number of events before the bookmark
	resumed *api.Stream
}

func newReader(server *api.Server, kind api.Kind, selector labels.Selector) *reader {
	return &reader{server: server, kind: kind, selector: selector, told: []string{},
		stream: server.Watch(kind, selector, server.Version())}
}

func (r *reader) read(t *testing.T, n int, bookmarks bool) {
	t.Helper()
	for range n {
		event, err := r.stream.Next(bookmarks)
		switch {
		case err != nil:
			t.Fatal(err)
		case event == nil:
			return
		case event.Version <= r.at:
			t.Errorf("%s: %s of version %d after %d", r.kind, event.Type, event.Version, r.at)
		}
		r.at = event.Version
		if event.Type != kwatch.Bookmark {
			r.told = append(r.told, fmt.Sprintf("%s %s", event.Type, plain(event.Object)))
			continue
		}
		r.marks = append(r.marks, mark{event.Version, len(r.told), r.server.Watch(r.kind, r.selector, event.Version)})
	}
}
