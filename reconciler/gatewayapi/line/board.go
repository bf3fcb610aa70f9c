package line

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// Board has the listeners of all Gateways, and their backends. The lines of muxes and of backends read it.
type Board struct {
	keys   validation.Keys
	mu     sync.Mutex
	muxes  map[types.NamespacedName]*posted
	muxOf  map[types.NamespacedName]types.NamespacedName   // by listener
	left   map[types.NamespacedName]types.NamespacedName   // the last mux of listeners that are gone
	users  map[types.NamespacedName][]types.NamespacedName // listeners, by Service
	isFull bool                                            // true once it has the listeners of every served Gateway
	live   func(ctx context.Context, gateway, listener types.NamespacedName) (*plan.ObservedChannel, error)
	// WakeMux is called after a change of a mux's listeners or their backends, and WakeBackends after a change of
	// listeners' backends. wakeGateway is called when a listener has news for its Gateway's status.
	WakeMux      func(mux types.NamespacedName)
	WakeBackends func(listeners []types.NamespacedName)
	wakeGateway  func(gateway types.NamespacedName)
	// Tell is called when the listeners that Shown returns for a mux change.
	Tell func(mux types.NamespacedName)
	// SlicesOf returns the slices of a Service.
	SlicesOf func(ctx context.Context, cache client.Reader, service types.NamespacedName) ([]*discoveryv1.EndpointSlice,
		error)
}

// posted is a Gateway's part of the board.
type posted struct {
	gateway   types.NamespacedName
	listeners map[types.NamespacedName]listener
	shown     []claimants.Listener // also listeners that ask for no number; replaced, never changed
}

// listener is a claimant, with its last conditions, and its backends.
type listener struct {
	channel  plan.ObservedChannel
	backends []read.Backend
}

// NewBoard returns an empty board.
func NewBoard(keys validation.Keys) *Board {
	return &Board{keys: keys, muxes: map[types.NamespacedName]*posted{},
		muxOf: map[types.NamespacedName]types.NamespacedName{},
		left:  map[types.NamespacedName]types.NamespacedName{}, users: map[types.NamespacedName][]types.NamespacedName{},
		Tell: func(types.NamespacedName) {}}
}

// connect joins the board to the feature that posts.
func (b *Board) connect(live func(ctx context.Context, gateway, listener types.NamespacedName) (*plan.ObservedChannel,
	error),
	wakeGateway func(gateway types.NamespacedName)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live, b.wakeGateway = live, wakeGateway
}

// full notes that the board has the listeners of every served Gateway: from now on, a listener that it lacks doesn't
// exist.
func (b *Board) full() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.isFull = true
}

func (b *Board) wakeFor(gateway types.NamespacedName) {
	b.mu.Lock()
	wake := b.wakeGateway
	b.mu.Unlock()
	if wake != nil {
		wake(gateway)
	}
}

var errUnknown = errors.New("the listeners of Gateways aren't known yet")

// post replaces a Gateway's listeners, and wakes the lines if something changed. Listeners keep their conditions.
func (b *Board) post(mux, gateway types.NamespacedName, channels []plan.ObservedChannel,
	backendsOf func(listener types.NamespacedName) []read.Backend) {
	b.mu.Lock()
	before := b.muxes[mux]
	if before == nil {
		before = &posted{}
	}
	now, changed := &posted{gateway, map[types.NamespacedName]listener{}, before.shown}, before.gateway != gateway
	fed := []types.NamespacedName(nil)
	for _, channel := range channels {
		was, known := before.listeners[channel.Key]
		if known && was.channel.UID == channel.UID {
			channel.Conditions, channel.Address = was.channel.Conditions, was.channel.Address
			channel.PortsNote = was.channel.PortsNote
		}
		is := listener{channel, backendsOf(channel.Key)}
		now.listeners[channel.Key] = is
		changed = changed || !known || !reflect.DeepEqual(was.channel.Channel, is.channel.Channel)
		if !known || !slices.Equal(was.backends, is.backends) {
			fed = append(fed, channel.Key)
		}
	}
	for key := range before.listeners {
		if _, stays := now.listeners[key]; !stays {
			changed, fed = true, append(fed, key)
			b.leave(key, mux)
		}
	}
	b.muxes[mux] = now
	b.index()
	b.mu.Unlock()
	b.wake(mux, changed, fed)
}

// drop removes a Gateway from the board, unless the mux is posted for another Gateway: names of muxes are shortened,
// and two may be equal.
func (b *Board) drop(mux, gateway types.NamespacedName) {
	b.mu.Lock()
	before := b.muxes[mux]
	if before == nil || before.gateway != gateway {
		b.mu.Unlock()
		return
	}
	delete(b.muxes, mux)
	for key := range before.listeners {
		b.leave(key, mux)
	}
	b.index()
	b.mu.Unlock()
	b.wake(mux, true, slices.Collect(maps.Keys(before.listeners)))
}

// maxLeft bounds the memory of listeners that are gone. The slices of a forgotten listener are deleted only after a
// restart.
const maxLeft = 10_000

func (b *Board) leave(listener, mux types.NamespacedName) {
	if len(b.left) >= maxLeft {
		clear(b.left)
	}
	b.left[listener] = mux
}

func (b *Board) wake(mux types.NamespacedName, changed bool, fed []types.NamespacedName) {
	if changed {
		b.WakeMux(mux)
	}
	if len(fed) > 0 {
		b.WakeBackends(fed)
		b.WakeMux(mux) // BackendsReady may change
	}
}

func (b *Board) index() {
	clear(b.muxOf)
	clear(b.users)
	for mux, posted := range b.muxes {
		for key, listener := range posted.listeners {
			b.muxOf[key] = mux
			delete(b.left, key)
			for _, backend := range listener.backends {
				b.users[backend.Service] = append(b.users[backend.Service], key)
			}
		}
	}
}

// Knows is true once the Gateway of a mux was posted.
func (b *Board) Knows(mux types.NamespacedName) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.muxes[mux] != nil
}

// On returns the listeners of a mux.
func (b *Board) On(mux types.NamespacedName) []plan.ObservedChannel {
	b.mu.Lock()
	defer b.mu.Unlock()
	posted := b.muxes[mux]
	if posted == nil {
		return nil
	}
	var all []plan.ObservedChannel
	for _, listener := range posted.listeners {
		all = append(all, listener.channel)
	}
	return all
}

// KeysOn returns the names of a mux's listeners.
func (b *Board) KeysOn(mux types.NamespacedName) []types.NamespacedName {
	b.mu.Lock()
	defer b.mu.Unlock()
	if posted := b.muxes[mux]; posted != nil {
		return slices.Collect(maps.Keys(posted.listeners))
	}
	return nil
}

// Live returns a listener as the API server has it; nil if it wants no number on the mux.
func (b *Board) Live(ctx context.Context, mux, key types.NamespacedName) (*plan.ObservedChannel, error) {
	b.mu.Lock()
	posted, live := b.muxes[mux], b.live
	b.mu.Unlock()
	if posted == nil || live == nil {
		return nil, errUnknown
	}
	channel, err := live(ctx, posted.gateway, key)
	if channel == nil || err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if told := posted.listeners[key].channel; told.UID == channel.UID {
		channel.Conditions, channel.Address, channel.PortsNote = told.Conditions, told.Address, told.PortsNote
	}
	return channel, nil
}

// Users returns the listeners that send packets to a Service.
func (b *Board) Users(service types.NamespacedName) []types.NamespacedName {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.users[service])
}

// MuxOf returns the mux of a listener, and true. For a listener that is gone, it returns the last mux, if known, and
// false. It returns an error while the board may lack the listener.
func (b *Board) MuxOf(key types.NamespacedName) (types.NamespacedName, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if mux, is := b.muxOf[key]; is {
		return mux, true, nil
	}
	if mux, left := b.left[key]; left {
		return mux, false, nil
	}
	if !b.isFull {
		return types.NamespacedName{}, false, errUnknown
	}
	return types.NamespacedName{}, false, nil
}
