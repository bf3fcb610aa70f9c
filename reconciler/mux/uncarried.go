package mux

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// uncarriedPause is how long a channel's ready backends may be missing on the mux before the channel is told. A slice that
// somebody deletes is written again within milliseconds, and a condition that turns twice is two writes and two Events.
const uncarriedPause = 5 * time.Second

// settleBacking leaves a channel's condition as it is while its backends are missing on the mux for a short time.
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

// nextUncarried is when the first of those channels must be told; zero if there is none.
func (m *memory) nextUncarried(now time.Time) time.Time {
	var next time.Time
	for _, since := range m.uncarried {
		if at := since.Add(uncarriedPause); at.After(now) {
			next = earlier(next, at)
		}
	}
	return next
}
