package sight

import (
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// Sight is an observed mux, and the plan for it. Readers must not change it: objects may belong to a cache.
type Sight struct {
	World plan.World
	// Known is what the process remembers of the mux.
	Known plan.Memory
	Plan  *plan.Plan
	// Carrier tells of a mux on gateways; nil for any other.
	Carrier *Carrier
	// Listeners are the listeners of the Gateway that the mux is made for, also those that ask for no number.
	Listeners []claimants.Listener
	// Sources are the EndpointSlices of each channel. Carried are our slices on the mux, by channel.
	Sources, Carried map[types.NamespacedName][]*discoveryv1.EndpointSlice
	// Passed is when this process last ran a pass for the mux; zero if never. Failed is the error of that pass.
	Passed time.Time
	Failed error
	// Unread says what couldn't be read.
	Unread Unread
}

// Source reads what a Sight is made from. An error of type Unreadable or Skipped means that the Sight can be made
// without it. Any other error ends the look.
type Source interface {
	// Mux returns the Service of the mux, nil if it doesn't exist, and whether its applier declares the placeholder port:
	// see plan.DeclaresPlaceholder.
	Mux() (svc *corev1.Service, declaresPlaceholder bool, err error)
	// Channels returns Services that may be channels of the mux. With an Unreadable, it returns those that could be read.
	Channels() ([]*corev1.Service, error)
	// Claimants returns the listeners of the mux's Gateway, which may ask for numbers, too.
	Claimants(mux *corev1.Service) (Claimants, error)
	// Sources returns the EndpointSlices of a channel.
	Sources(channel types.NamespacedName) ([]*discoveryv1.EndpointSlice, error)
	// OnMux returns our EndpointSlices on the mux. With Skipped, the returned slices are only good for rebuilding a lost
	// ledger.
	OnMux() ([]*discoveryv1.EndpointSlice, error)
	// Ledger returns the ledger of the mux.
	Ledger(*plan.ObservedMux) (plan.Reading, error)
	// RefusedSlices returns the API server's words about a slice of a channel that the API server refuses; "" if it
	// refuses none.
	RefusedSlices(channel types.NamespacedName) string
}

// Claimants are listeners of the Gateway that a mux is made for.
type Claimants struct {
	// Asking are the listeners that ask for a number.
	Asking []plan.ObservedChannel
	// Listeners are all listeners, with their conditions and routes.
	Listeners []claimants.Listener
	// Unknown is true while the process doesn't know the listeners: see plan.World.
	Unknown bool
}

// Question is the mux to look at, and what the caller knows.
type Question struct {
	Language validation.Language
	Mux      types.NamespacedName
	Now      time.Time
	// RebuildFrom is the time from which the process may rebuild a lost ledger; zero if at once.
	RebuildFrom time.Time
	Known       plan.Memory
	// Onlooker is true for a process that isn't the reconciler. Such a process doesn't know what the API server refused
	// and what waits, so the conditions that the reconciler wrote count more than the plan.
	Onlooker bool
}

// gathering is a Sight in the making.
type gathering struct {
	*Sight
	question *Question
	from     Source
	service  *corev1.Service // the mux; nil if there is none
	skipped  bool            // slices weren't read, so conditions tell of backends
}

// Of gathers the world of a mux, and decides about it.
func Of(q Question, from Source) (*Sight, error) {
	g := gathering{&Sight{
		World:   plan.World{Now: q.Now, Keys: q.Language.Keys(), Key: q.Mux, RebuildFrom: q.RebuildFrom},
		Known:   q.Known,
		Sources: map[types.NamespacedName][]*discoveryv1.EndpointSlice{},
		Carried: map[types.NamespacedName][]*discoveryv1.EndpointSlice{},
	}, &q, from, nil, false}
	for _, step := range [...]func() error{g.mux, g.slices, g.channels, g.claimants, g.ledger} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	g.Plan = plan.Mux(g.World, g.Known)
	if q.Onlooker {
		g.heed()
	}
	return g.Sight, nil
}

func (g *gathering) mux() error {
	svc, declares, err := g.from.Mux()
	if err := take(err, &g.Unread.Mux); err != nil {
		return err
	}
	if svc != nil && g.question.Language.Classify(svc).Mux() && svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
		g.service, g.World.Mux = svc, plan.ReadMux(g.question.Language, svc, declares)
		g.Carrier = carrierOf(g.World.Keys, svc, g.World.Mux.Pool)
	}
	return nil
}

// slices reads our slices on the mux.
func (g *gathering) slices() error {
	if g.World.Mux == nil {
		return nil
	}
	onMux, err := g.from.OnMux()
	g.skipped = errors.As(err, &Skipped{})
	if err := take(err, &g.Unread.Carried); err != nil {
		return err
	}
	keys := g.World.Keys
	for _, slice := range onMux {
		if channel, says := project.ChannelOfSlice(keys, slice); says {
			g.Carried[channel] = append(g.Carried[channel], slice)
		}
	}
	g.World.Records = project.RecordsOf(keys, onMux)
	return nil
}

func (g *gathering) channels() error {
	services, err := g.from.Channels()
	if err := take(err, &g.Unread.Channels); err != nil {
		return err
	}
	for _, svc := range services {
		if !g.question.Language.Classify(svc).Channel() {
			continue
		}
		channel := plan.ReadChannel(g.question.Language, svc)
		if channel.Mux != g.World.Key {
			continue
		}
		if err := g.add(channel, svc.Spec.Ports); err != nil {
			return err
		}
	}
	return nil
}

// claimants reads the listeners of the mux's Gateway.
func (g *gathering) claimants() error {
	if g.service == nil {
		return nil
	}
	all, err := g.from.Claimants(g.service)
	if err := take(err, &g.Unread.Listeners); err != nil {
		return err
	}
	g.Listeners, g.World.ListenersUnknown = all.Listeners, all.Unknown
	for _, channel := range all.Asking {
		if err := g.add(channel, nil); err != nil {
			return err
		}
	}
	return nil
}

// add adds a claimant with its backends. A listener has no Service ports: see project.BackingOf.
func (g *gathering) add(channel plan.ObservedChannel, ports []corev1.ServicePort) error {
	sources, err := g.from.Sources(channel.Key)
	skipped := errors.As(err, &Skipped{})
	var unread string
	if err := take(err, &unread); err != nil {
		return err
	}
	if unread != "" {
		g.Unread.Sources = unread
	}
	g.Sources[channel.Key] = sources
	if g.World.Mux != nil {
		channel.Backends = g.backing(&channel, ports, skipped || unread != "")
		channel.Excess = excessSaid(g.World.Keys, &channel)
		channel.RefusedSlices = g.from.RefusedSlices(channel.Key)
	}
	g.World.Channels = append(g.World.Channels, channel)
	return nil
}

// backing returns whether a channel has backends on the mux. If the slices that were read don't tell, the channel's
// condition does.
func (g *gathering) backing(c *plan.ObservedChannel, ports []corev1.ServicePort, sourcesUnread bool) plan.Backing {
	mux := g.World.Mux
	carried := slices.DeleteFunc(slices.Clone(g.Carried[c.Key]), func(slice *discoveryv1.EndpointSlice) bool {
		return !slices.Contains(project.OwnersOfSlice(slice), mux.UID)
	})
	if g.skipped {
		return backingSaid(g.World.Keys, c)
	}
	if g.Unread.Carried == "" && !sourcesUnread {
		return project.CarriedBacking(carried, g.Sources[c.Key], ports, mux.Families)
	}
	if g.Unread.Carried == "" && project.CarriedBacking(carried, nil, ports, mux.Families) == plan.Backed {
		return plan.Backed
	}
	return backingSaid(g.World.Keys, c)
}

func (g *gathering) ledger() error {
	mux := g.World.Mux
	if mux == nil {
		return nil
	}
	reading, err := g.from.Ledger(mux)
	if err := take(err, &g.Unread.Ledger); err != nil {
		return err
	}
	if g.Unread.Ledger != "" { // claims are rebuilt from the Services, as admission does
		reading = plan.Reading{Condition: plan.Missing, Name: mux.Ledger}
	}
	// the reconciler may be a newer version, which can read the ledger
	if g.question.Onlooker && reading.Condition == plan.Newer {
		g.Unread.Ledger = reading.Why
		reading = plan.Reading{Condition: plan.Missing, Name: reading.Name}
	}
	g.World.Ledger = reading
	return nil
}
