// Package contract checks a cluster at rest against the contract: which ports, addresses, statuses and slices must
// exist.
//
// It derives them from the objects alone, with its own rules. It imports no package of the reconciler, so a fault of
// the reconciler can't hide itself here. A test checks the imports. Package validation, the language of users, reads
// the annotations.
package contract

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// World is a cluster in which every request is answered and every change is delivered.
type World struct {
	Language   validation.Language
	Services   map[types.NamespacedName]*corev1.Service
	ConfigMaps map[types.NamespacedName]*corev1.ConfigMap
	Slices     map[types.NamespacedName]*discoveryv1.EndpointSlice
	Routing
	// Now is the time of the reconciler's clock.
	Now time.Time
	// Unexplained returns whether others destroyed the claim of a port that has one of our names. The contract lets
	// such a port stay.
	Unexplained func(mux types.NamespacedName, port *corev1.ServicePort) bool
}

// mux is a mux that the reconciler serves, with its ledger and its channels.
type mux struct {
	validation.Mux
	*World
	service  *corev1.Service
	ledger   ledger
	channels map[types.NamespacedName]*channel
}

// channel is a Service that names a mux, or a listener that asks for a number.
type channel struct {
	validation.Channel
	service  *corev1.Service // nil for a listener
	listener *Listener       // nil for a Service
	valid    bool
	claims   []claim // claims in force
}

// AtRest returns the first difference between the cluster and the contract, or an empty string.
func (w *World) AtRest() string {
	served := map[types.NamespacedName]*mux{}
	for _, key := range keysOf(w.Services) {
		svc := w.Services[key]
		if !w.isMux(svc) {
			continue
		}
		m, wrong := w.read(key, svc)
		if wrong == "" {
			wrong = m.check()
		}
		if wrong != "" {
			return fmt.Sprintf("%s (mux %s)", wrong, key)
		}
		served[key] = m
	}
	for _, key := range keysOf(w.Services) {
		if wrong := w.checkService(key, served); wrong != "" {
			return fmt.Sprintf("%s (%s)", wrong, key)
		}
	}
	return cmp.Or(w.checkSlices(served), w.checkRouting(served))
}

func (m *mux) check() string {
	return cmp.Or(m.checkLedger(), m.checkPorts(), m.checkRequests())
}

// isMux returns whether a Service is a load balancer with the mux annotation that isn't being deleted.
func (w *World) isMux(svc *corev1.Service) bool {
	kind := w.Language.Classify(svc)
	return kind.Mux() && !kind.Channel() && svc.Spec.Type == corev1.ServiceTypeLoadBalancer && svc.DeletionTimestamp == nil
}

// muxOf returns the mux that a Service names, or false if the Service isn't a channel.
func (w *World) muxOf(svc *corev1.Service) (types.NamespacedName, bool) {
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer || !w.Language.Classify(svc).Channel() {
		return types.NamespacedName{}, false
	}
	return w.Language.ParseClass(*svc.Spec.LoadBalancerClass)
}

func (w *World) read(key types.NamespacedName, svc *corev1.Service) (*mux, string) {
	parsed, found := w.Language.ParseMux(svc)
	if len(found.Problems) > 0 {
		return nil, "the mux has problems: " + found.Problems[0].Message
	}
	m := &mux{Mux: parsed, World: w, service: svc, channels: map[types.NamespacedName]*channel{}}
	cm := w.ConfigMaps[types.NamespacedName{Namespace: key.Namespace, Name: parsed.Ledger}]
	var err error
	if m.ledger, err = readLedger(cm); err != nil {
		return nil, fmt.Sprintf("ledger %s: %v", parsed.Ledger, err)
	}
	for _, other := range keysOf(w.Services) {
		if named, is := w.muxOf(w.Services[other]); is && named == key {
			parsed, found := w.Language.ParseChannel(w.Services[other])
			m.channels[other] = &channel{Channel: parsed, service: w.Services[other], valid: len(found.Problems) == 0}
		}
	}
	for other, l := range w.Listeners() {
		if l.Mux == key && l.Asks {
			m.channels[other] = l.claimant()
		}
	}
	for _, claim := range m.ledger.claims {
		if c := m.channels[claim.channel]; c != nil && claim.state == held {
			c.claims = append(c.claims, claim)
		}
	}
	return m, ""
}

// publishes returns whether the claim's port belongs on the mux.
func (m *mux) publishes(c *claim) bool {
	owner := m.channels[c.channel]
	return c.state == held && owner != nil && !owner.Disabled
}

func keysOf[V any](of map[types.NamespacedName]V) []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(of), func(a, b types.NamespacedName) int {
		return cmp.Compare(a.String(), b.String())
	})
}
