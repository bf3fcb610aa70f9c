package mux

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// countingReader counts live reads.
type countingReader struct {
	*drainServer
	reads int
}

func (c *countingReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	c.reads++
	return c.drainServer.Get(ctx, key, obj, options...)
}

// TestLiveReadsEndOnceTheCacheShowsTheWrite: its event may have come before the response to the write.
func TestLiveReadsEndOnceTheCacheShowsTheWrite(t *testing.T) {
	for name, test := range map[string]struct {
		written, live, cached string
		reads                 int // in ten minutes
	}{
		"the cache is up to date":               {"12", "12", "12", 1},
		"another writer changed it":             {"12", "14", "14", 1},
		"the cache is newer than the live read": {"12", "14", "15", 1},
		"the cache is behind another writer":    {"12", "14", "13", 9},
		"the cache is behind":                   {"12", "12", "11", 9},
	} {
		t.Run(name, func(t *testing.T) {
			live := &countingReader{drainServer: &drainServer{language: languageOf(t), services: map[string]*corev1.Service{"mux": service(test.live)}}}
			cache := &drainServer{language: live.language, services: map[string]*corev1.Service{"mux": service(test.cached)}}
			now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			line := New(Options{Language: live.language, Cache: freshCache{cache}, Live: live, Now: func() time.Time { return now }})
			line.services.Put(service(test.written))
			for range 10 {
				now = now.Add(time.Minute)
				if _, err := line.catchUp(t.Context()); err != nil {
					t.Fatal(err)
				}
				now = now.Add(time.Second)
			}
			if live.reads != test.reads {
				t.Errorf("%d live reads, want %d", live.reads, test.reads)
			}
			if known := line.services.Due().IsZero(); known != (test.reads == 1) {
				t.Errorf("the write is known to be shown: %t", known)
			}
		})
	}
}
