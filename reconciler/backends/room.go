package backends

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
)

const (
	// countEvery is how old a count of a mux's slices may be.
	countEvery = 10 * time.Second
	// roomPause is the pause until the next pass over a channel that a limit cuts: another channel may have left room.
	roomPause = 30 * time.Second
)

// rooms count the shared endpoints of the channels on muxes on gateways. A channel gets the room that other channels
// leave, so it keeps its endpoints.
type rooms struct {
	mu    sync.Mutex
	muxes map[types.UID]*room
}

// room is the count of one mux.
type room struct {
	countedAt time.Time
	channels  map[types.NamespacedName]part
}

// part is how many shared endpoints a channel has. at is when a pass decided that; zero if the slices in the cache say
// so.
type part struct {
	endpoints int
	at        time.Time
}

// decide decides about a channel. On a mux on gateways it gives the channel the room that other channels leave.
func (l *line) decide(ctx context.Context, seen *observation) (project.Decision, error) {
	if !seen.Mux.OnGateways || !seen.Mux.IsMux {
		return project.Decide(seen.View), nil
	}
	l.rooms.mu.Lock()
	defer l.rooms.mu.Unlock()
	mux := l.rooms.muxes[seen.Mux.UID]
	if mux == nil || l.Now().Sub(mux.countedAt) > countEvery {
		listed, err := OnMux(ctx, l.cache, seen.Mux.Key)
		if err != nil {
			return project.Decision{}, err
		}
		mux = l.count(mux, seen.Mux.UID, listed)
		l.rooms.muxes[seen.Mux.UID] = mux
	}
	seen.Room = mux.leftFor(seen.Channel)
	decided := project.Decide(seen.View)
	if seen.ClaimsKnown { // otherwise the slices stay as they are
		mux.channels[seen.Channel] = part{decided.Shared, l.Now()}
	}
	return decided, nil
}

// count counts the slices that a mux owns. Counts of recent passes stay: the cache may not show these writes yet.
func (l *line) count(before *room, mux types.UID, listed []*discoveryv1.EndpointSlice) *room {
	now := l.Now()
	counted := &room{now, map[types.NamespacedName]part{}}
	byChannel := map[types.NamespacedName][]*discoveryv1.EndpointSlice{}
	for _, slice := range listed {
		if channel, is := project.ChannelOfSlice(l.keys, slice); is &&
			slices.Contains(project.OwnersOfSlice(slice), mux) {
			byChannel[channel] = append(byChannel[channel], slice)
		}
	}
	for channel, list := range byChannel {
		counted.channels[channel] = part{endpoints: project.Shared(list)}
	}
	if before != nil {
		for channel, s := range before.channels {
			if now.Sub(s.at) < patience {
				counted.channels[channel] = s
			}
		}
	}
	return counted
}

// leftFor returns how many shared endpoints a channel may have.
func (r *room) leftFor(channel types.NamespacedName) int {
	all, ofNamespace := project.MaxShared, project.MaxSharedOfNamespace
	for other, s := range r.channels {
		if other == channel {
			continue
		}
		all -= s.endpoints
		if other.Namespace == channel.Namespace {
			ofNamespace -= s.endpoints
		}
	}
	return max(0, min(all, ofNamespace))
}

// forget forgets the counts of a mux that is gone.
func (r *rooms) forget(svc *corev1.Service) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.muxes, svc.UID)
}
