package webhook

import (
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// crowd returns a mux with the given number of channels, all at rest.
func crowd(t testing.TB, channels int) (*corev1.Service, []*corev1.Service) {
	t.Helper()
	var all []*corev1.Service
	for i := range channels {
		svc := named(fmt.Sprint("team-", i%100), fmt.Sprint("web-", i), 80)
		svc.Annotations["svc-mux.nowake.ai/external-ports"] = "http:auto"
		svc.Annotations["svc-mux.nowake.ai/ports"] = fmt.Sprint("http:80->", 20000+i)
		all = append(all, svc)
	}
	return testMux(t, map[string]string{"port-range": "20000-39999", "max-ports": "20000"}, all...), all
}

// BenchmarkReview10000Channels measures a review on a mux of 10,000 channels: without changes since the last review,
// right after a change, and for a change that doesn't concern ports.
func BenchmarkReview10000Channels(b *testing.B) {
	mux, channels := crowd(b, 10_000)
	seer := newSeer(b, append(channels, mux)...)
	seer.index.holdFactor = holdFactor
	fresh := request(b, nil, named("team-a", "web", 8080))
	taken := request(b, nil, named("team-a", "web", 20000))
	label := request(b, channels[0], channels[0])
	deletion := deletionOf(b, mux)
	b.Run("without", func(b *testing.B) {
		for b.Loop() {
			Review(testLanguage(b), fresh)
		}
	})
	for name, req := range map[string]struct {
		ask  func()
		says int
	}{
		"a channel with a port": {func() { seer.review(b, fresh) }, 0},
		"a refused channel":     {func() { seer.review(b, taken) }, 1},
		"a label":               {func() { seer.review(b, label) }, 0},
		"the mux is deleted":    {func() { seer.review(b, deletion) }, 1},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				req.ask()
			}
		})
	}
	b.Run("right after a change", func(b *testing.B) {
		seer.index.holdFactor = 0
		defer func() { seer.index.holdFactor = holdFactor }()
		for i := 0; b.Loop(); i++ {
			_ = seer.index.store(func() {}).Update(named("team-x", "comes", int32(1+i%1000)))
			seer.review(b, fresh)
		}
	})
	b.Run("a burst of 100 while each changes the mux", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			var all sync.WaitGroup
			for i := range 100 {
				all.Go(func() {
					_ = seer.index.store(func() {}).Update(named("team-y", fmt.Sprint("comes-", i), int32(1+n%1000)))
					seer.review(b, fresh)
				})
			}
			all.Wait()
		}
	})
}
