package mux

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// uncarriedPause is how long a channel's ready backends may be missing on the mux before its condition changes. A
// deleted slice is written again within milliseconds, and changing a condition back and forth costs two writes and two
// Events.
const uncarriedPause = 5 * time.Second

// settleBacking keeps a channel's condition while its backends are missing on the mux for a short time.
func (m *memory) settleBacking(channel types.NamespacedName, backing plan.Backing, now time.Time) plan.Backing {
	if backing != plan.NotCarried {
		delete(m.uncarried, channel)
		return backing
	}
	since, known := m.uncarried[channel]
	if !known || now.Before(since) { // a clock may be set back
		since = now
		m.uncarried[channel] = now
	}
	if now.Sub(since) < uncarriedPause {
		return plan.Unknown
	}
	return backing
}

// nextUncarried returns when the first of those conditions must change; zero without one.
func (m *memory) nextUncarried(now time.Time) time.Time {
	var next time.Time
	for _, since := range m.uncarried {
		if at := since.Add(uncarriedPause); at.After(now) {
			next = earlier(next, at)
		}
	}
	return next
}
