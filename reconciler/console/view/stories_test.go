package view_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/console/view"
	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
	"nowake.ai/svc-lb-mux/validation"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// TestStories shows worlds as the console does. A world is a file of YAML documents: Services, their EndpointSlices,
// listeners of Gateways, and, optionally, the condition of the ledger as a ConfigMap. The mux is svc-mux/mux. It
// expects the served JSON once the reconciler has nothing left to do: the mux, its topology, and the chain of every
// Service.
func TestStories(t *testing.T) {
	for _, story := range golden.Stories(t, "testdata/*.txtar") {
		t.Run(story.Name(), func(t *testing.T) {
			story.Compare(t, "want.json", string(read(t, story.Input()).shown(t)))
		})
	}
}

type story struct {
	language validation.Language
	services []*corev1.Service
	seen     sight.Sight
}

var muxKey = types.NamespacedName{Namespace: "svc-mux", Name: "mux"}

func read(t *testing.T, text []byte) *story {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, muxKey.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	s := &story{language: language, seen: sight.Sight{
		World: plan.World{Now: now, Keys: language.Keys(), Key: muxKey,
			Ledger: plan.Reading{Condition: plan.Missing, Name: "mux-port-allocations"}},
		Sources: map[types.NamespacedName][]*discoveryv1.EndpointSlice{},
		Carried: map[types.NamespacedName][]*discoveryv1.EndpointSlice{},
		Passed:  now,
	}}
	for _, doc := range bytes.Split(text, []byte("\n---\n")) {
		s.take(t, doc)
	}
	for _, svc := range s.services {
		s.place(svc)
	}
	return s
}

func (s *story) take(t *testing.T, doc []byte) {
	t.Helper()
	var kind metav1.TypeMeta
	decode(t, doc, &kind)
	switch kind.Kind {
	case "Service":
		svc := &corev1.Service{}
		decode(t, doc, svc)
		svc.CreationTimestamp = metav1.NewTime(now.Add(time.Duration(len(s.services)) * time.Minute))
		s.services = append(s.services, svc)
	case "EndpointSlice":
		slice := &discoveryv1.EndpointSlice{}
		decode(t, doc, slice)
		channel := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
		s.seen.Sources[channel] = append(s.seen.Sources[channel], slice)
	case "ConfigMap":
		cm := &corev1.ConfigMap{}
		decode(t, doc, cm)
		s.seen.World.Ledger = plan.Reading{Condition: plan.Unreadable, Name: cm.Name, Why: cm.Data["why"]}
	case "Listener":
		var l claimants.Listener
		decode(t, doc, &l)
		s.listen(&l)
	default:
		t.Fatalf("a document of kind %q", kind.Kind)
	}
}

// TestListenersThatThisProcessDoesNotKnow looks at a mux as a standby does: listeners have claims, and this process
// knows nothing else of them.
func TestListenersThatThisProcessDoesNotKnow(t *testing.T) {
	s := read(t, golden.Read(t, "testdata/listeners-beside-channels.txtar").Input())
	s.rest(t)
	seen := s.seen
	seen.Listeners, seen.World.ListenersUnknown = nil, true
	seen.World.Channels = slices.DeleteFunc(slices.Clone(seen.World.Channels), func(c plan.ObservedChannel) bool {
		return !claimants.IsService(c.Key)
	})
	seen.Plan = plan.Mux(seen.World, plan.Memory{})
	mux := view.Of(&seen)
	var got []string
	for _, c := range mux.Channels {
		got = append(got, fmt.Sprintf("%s/%s %s %d", c.Namespace, c.Name, c.State, c.Ports[0].Public))
	}
	want := []string{"infra/gateway/edge/web unknown 80", "shop/holder unbacked 443",
		"shop/listenerset/broker/tcp unknown 9092", "shop/web unbacked 20000"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(mux.Notes) != 1 || mux.Notes[0].Reason != "ListenersUnknown" || mux.Gateway == nil || !mux.Gateway.Unknown ||
		mux.Gateway.Listeners != 2 || mux.State != "ok" {
		t.Errorf("%s, notes %+v, Gateway %+v", mux.State, mux.Notes, mux.Gateway)
	}
	chain := view.WhyListener(&seen, types.NamespacedName{Namespace: "infra", Name: "gateway/edge/web"})
	if chain.Links[0].State != "unread" || chain.Links[len(chain.Links)-1].Text != "1 of 2 ready" {
		t.Errorf("%+v", chain.Links)
	}
	seen.World.Ledger = plan.Reading{Condition: plan.Missing, Name: "mux-port-allocations"}
	seen.Plan = plan.Mux(seen.World, plan.Memory{})
	if mux := view.Of(&seen); mux.State != "frozen" || !strings.Contains(mux.Message, "doesn't know the listeners") {
		t.Errorf("without a ledger it is %s: %s", mux.State, mux.Message)
	}
}

// listen adds a listener. The listener asks for its number unless its status refuses it for another reason than the
// number.
func (s *story) listen(l *claimants.Listener) {
	s.seen.Listeners = append(s.seen.Listeners, *l)
	if len(l.Conditions) > 0 && l.Conditions[0].Status == metav1.ConditionFalse &&
		l.Conditions[0].Reason != "PortUnavailable" {
		return
	}
	s.seen.World.Channels = append(s.seen.World.Channels, plan.ObservedChannel{Admitted: true, Channel: validation.Channel{
		Object: validation.Object{Key: l.Key, UID: types.UID(l.Gateway.Name),
			Created: now.Add(time.Duration(len(s.services)) * time.Minute)}, Mux: muxKey,
		Ports: []validation.ChannelPort{{Name: strings.ToLower(string(l.Protocol)), Protocol: l.Protocol, Port: l.Number,
			Request: validation.Request{Kind: validation.Number, Number: l.Number}}},
	}})
}

func decode(t *testing.T, doc []byte, into any) {
	t.Helper()
	if err := yaml.Unmarshal(doc, into); err != nil {
		t.Fatal(err)
	}
}

func (s *story) place(svc *corev1.Service) {
	key, kind := types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}, s.language.Classify(svc)
	switch {
	case key == muxKey:
		s.seen.World.Mux = plan.ReadMux(s.language, svc, false)
	case kind.Channel():
		channel := plan.ReadChannel(s.language, svc)
		if channel.Mux == muxKey {
			s.seen.World.Channels = append(s.seen.World.Channels, channel)
		}
	}
}

// rest applies the reconciler's decisions until none is left, as an API server would store them.
func (s *story) rest(t *testing.T) {
	t.Helper()
	w := &s.seen.World
	for range 10 {
		s.carry()
		p := plan.Mux(*w, plan.Memory{})
		s.seen.Plan = p
		if p.Empty() {
			return
		}
		for _, write := range []*plan.LedgerWrite{p.Reserve, p.Settle} {
			if write != nil {
				w.Ledger = plan.Reading{Condition: plan.Good, Ledger: write.Ledger, Name: w.Ledger.Name}
			}
		}
		if p.Publish != nil {
			if p.Publish.Ports != nil {
				w.Mux.Ports = p.Publish.Ports
			}
			w.Mux.Generation, w.Mux.LedgerInForce = w.Ledger.Ledger.Generation, w.Mux.Ledger
			if said := p.Publish.Annotations; said != nil {
				w.Mux.Channels, w.Mux.Topology, w.Mux.Summary = said[w.Keys.Channels], said[w.Keys.Topology], said[w.Keys.Summary]
			}
		}
		for _, patch := range append(p.Hide, p.Show...) {
			s.tell(&patch)
		}
	}
	t.Fatal("the world doesn't come to rest")
}

func (s *story) tell(patch *plan.ChannelPatch) {
	for i := range s.seen.World.Channels {
		c := &s.seen.World.Channels[i]
		if c.Key != patch.Channel {
			continue
		}
		if patch.SetAddress {
			c.Address = patch.Address
		}
		if patch.SetNote {
			c.PortsNote = patch.PortsNote
		}
		for _, condition := range patch.Conditions {
			c.Conditions = append(without(c.Conditions, condition.Type), condition)
		}
		for _, kind := range patch.Drop {
			c.Conditions = without(c.Conditions, kind)
		}
	}
}

func without(conditions []metav1.Condition, kind string) []metav1.Condition {
	var rest []metav1.Condition
	for _, condition := range conditions {
		if condition.Type != kind {
			rest = append(rest, condition)
		}
	}
	return rest
}

// carry carries slices as the backends line does.
func (s *story) carry() {
	w := &s.seen.World
	for i := range w.Channels {
		c := &w.Channels[i]
		if w.Mux == nil {
			continue
		}
		c.Backends = project.BackingOf(s.seen.Sources[c.Key], nil, w.Mux.Families)
		var claims []plan.Claim
		for _, claim := range w.Ledger.Ledger.Claims {
			if claim.Owner.Channel == c.Key && claim.State == plan.Held && !c.Disabled {
				claims = append(claims, claim)
			}
		}
		decided := project.Decide(project.View{
			Keys: w.Keys, Channel: c.Key, ClaimsKnown: true, Claims: claims, Sources: s.seen.Sources[c.Key],
			Mux: project.Mux{Key: muxKey, IsMux: true, Families: w.Mux.Families},
		})
		s.seen.Carried[c.Key] = nil
		for _, step := range decided.Steps {
			s.seen.Carried[c.Key] = append(s.seen.Carried[c.Key], step.Slice)
		}
	}
}

func (s *story) shown(t *testing.T) []byte {
	t.Helper()
	s.rest(t)
	shown := struct {
		Mux      view.Mux
		Topology view.MuxTopology
		Chains   []view.Chain
	}{Mux: view.Of(&s.seen), Topology: view.TopologyOf(&s.seen)}
	muxes := []types.NamespacedName{}
	if s.seen.World.Mux != nil {
		muxes = append(muxes, muxKey)
	}
	for _, svc := range s.services {
		key := types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
		shown.Chains = append(shown.Chains, view.Why(&view.Question{
			Language: s.language, Key: key, Service: svc, Seen: &s.seen, Muxes: muxes,
		}))
	}
	for i := range s.seen.Listeners {
		shown.Chains = append(shown.Chains, view.WhyListener(&s.seen, s.seen.Listeners[i].Key))
	}
	shown.Chains = append(shown.Chains,
		view.Why(&view.Question{Language: s.language, Key: types.NamespacedName{Namespace: "shop", Name: "nowhere"}}))
	text, err := json.MarshalIndent(shown, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}
