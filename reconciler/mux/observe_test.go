package mux

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// counted counts live reads.
type counted struct {
	*goodbye
	reads int
}

func (c *counted) Get(ctx context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	c.reads++
	return c.goodbye.Get(ctx, key, obj, options...)
}

// TestWhatTheCacheShowsIsNotReadLiveForEver though its event came before the answer to the write did.
func TestWhatTheCacheShowsIsNotReadLiveForEver(t *testing.T) {
	for name, test := range map[string]struct {
		written, live, cached string
		reads                 int // in ten minutes
	}{
		"the cache is as far":                     {"12", "12", "12", 1},
		"somebody has changed it since":           {"12", "14", "14", 1},
		"the cache is further than the live read": {"12", "14", "15", 1},
		"the cache is behind of somebody else":    {"12", "14", "13", 9},
		"the cache is behind":                     {"12", "12", "11", 9},
	} {
		t.Run(name, func(t *testing.T) {
			live := &counted{goodbye: &goodbye{language: languageOf(t), services: map[string]*corev1.Service{"mux": service(test.live)}}}
			cache := &goodbye{language: live.language, services: map[string]*corev1.Service{"mux": service(test.cached)}}
			now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			line := New(Options{Language: live.language, Cache: upToDate{cache}, Live: live, Now: func() time.Time { return now }})
			line.services.Put(service(test.written))
			for range 10 {
				now = now.Add(time.Minute)
				if _, err := line.catchUp(t.Context()); err != nil {
					t.Fatal(err)
				}
				now = now.Add(time.Second)
			}
			if live.reads != test.reads {
				t.Errorf("it is read live %d times, not %d", live.reads, test.reads)
			}
			if known := line.services.Due().IsZero(); known != (test.reads == 1) {
				t.Errorf("nothing is to be looked at any more: %t", known)
			}
		})
	}
}
