package services

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// liveServer is an API server with these Services, or with an error.
type liveServer struct {
	client.Client
	services map[string]*corev1.Service
	err      error
	read     []string
}

func (a *liveServer) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	a.read = append(a.read, key.Name)
	if a.err != nil {
		return a.err
	}
	if a.services[key.Name] == nil {
		return apierrors.NewNotFound(corev1.Resource("services"), key.Name)
	}
	a.services[key.Name].DeepCopyInto(obj.(*corev1.Service))
	return nil
}

// TestLiveReadReplacesTheCachedChannel before a plan that takes a number from the channel is carried out.
func TestLiveReadReplacesTheCachedChannel(t *testing.T) {
	const ours, another = validation.DefaultPrefix + "/mux", validation.DefaultPrefix + "/another"
	channel := func(class string, port int32) *corev1.Service {
		svc := service("12")
		svc.Name, svc.Annotations = "web", nil
		svc.Spec.Type, svc.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, ptr.To(class)
		svc.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: port}}
		return svc
	}
	nodePort := channel(ours, 81)
	nodePort.Spec.Type = corev1.ServiceTypeNodePort
	const unknown = int32(0)
	for name, test := range map[string]struct {
		cached, live *corev1.Service
		err          error
		port         int32 // the channel's in the world
		is           plan.Liveness
		fails        bool
	}{
		"edited":                             {cached: channel(ours, 80), live: channel(ours, 81), port: 81},
		"deleted":                            {cached: channel(ours, 80), is: plan.Gone},
		"moved to another mux":               {cached: channel(ours, 80), live: channel(another, 81), is: plan.Gone},
		"changed to another type":            {cached: channel(ours, 80), live: nodePort, is: plan.Gone},
		"not in the cache":                   {live: channel(ours, 81), port: 81},
		"not in the API server either":       {is: plan.Gone},
		"in the cache, and not readable":     {cached: channel(ours, 80), err: errors.New("no"), fails: true},
		"not in the cache, and not readable": {err: errors.New("no"), is: plan.Present},
	} {
		t.Run(name, func(t *testing.T) {
			line := newLine(t, answering{})
			line.Sources = noSlices
			if test.live != nil {
				test.live.ResourceVersion = "13"
			}
			line.Live = &liveServer{services: map[string]*corev1.Service{"web": test.live}, err: test.err}
			o := &pass{Line: line, memory: newMemory(budget.Limit{}), channels: map[types.NamespacedName]*corev1.Service{}}
			o.world = plan.World{Key: client.ObjectKeyFromObject(service("")), Mux: &plan.ObservedMux{}}
			web := client.ObjectKeyFromObject(channel(ours, 0))
			if test.cached != nil {
				o.channels[web] = test.cached
				o.world.Channels = []plan.ObservedChannel{plan.ReadChannel(line.Language, test.cached)}
			}
			err := o.confirm(t.Context(), []types.NamespacedName{web})
			if (err != nil) != test.fails {
				t.Fatal(err)
			}
			if test.fails {
				return
			}
			port := unknown
			for _, known := range o.world.Channels {
				port = known.Ports[0].Port
			}
			isGone := o.world.Live[web] == plan.Gone
			if port != test.port || !o.world.Confirmed[web] || port == unknown &&
				(o.world.Live[web] != test.is || isGone != (test.is == plan.Gone)) {
				t.Errorf("port %d, want %d; confirmed %t, live %d, want %d", port, test.port, o.world.Confirmed[web],
					o.world.Live[web], test.is)
			}
			if o.unread != (test.is == plan.Present) {
				t.Errorf("unread: %t", o.unread)
			}
			if next := line.services.Latest(web, test.cached); test.err == nil && !equality.Semantic.DeepEqual(next, test.live) {
				t.Errorf("the next pass doesn't begin with the live state: %v", next)
			}
		})
	}
}

// TestAPassConfirmsUntilItsPlanAsksForNothing: the pass gives up if the channels keep changing.
func TestAPassConfirmsUntilItsPlanAsksForNothing(t *testing.T) {
	for asked, fails := range map[int]bool{0: false, 1: false, maxConfirmations - 1: false, maxConfirmations: true} {
		line, live := newLine(t, answering{}), &liveServer{}
		line.Live = live
		o := &pass{Line: line, memory: newMemory(budget.Limit{}), channels: map[types.NamespacedName]*corev1.Service{},
			world: plan.World{Now: time.Now()}}
		decisions := 0
		p, err := o.decide(t.Context(), func(plan.World, plan.Memory) *plan.Plan {
			decisions++
			if decisions <= asked {
				return &plan.Plan{Confirm: []types.NamespacedName{{Namespace: "app", Name: string(rune('a' + decisions))}}}
			}
			return &plan.Plan{}
		})
		if (err != nil) != fails || fails != errors.Is(err, errBehind) || !fails && len(p.Confirm) > 0 {
			t.Errorf("asked %d times: %v, %v", asked, p, err)
		}
		if len(live.read) != asked {
			t.Errorf("asked %d times: read %q", asked, live.read)
		}
	}
}

// TestPassEndsIfTheMuxIsNotAsCached: the mux may name another ledger than the pass has read.
func TestPassEndsIfTheMuxIsNotAsCached(t *testing.T) {
	for name, test := range map[string]struct {
		live  *corev1.Service
		fails bool
	}{"the same": {service("1"), false}, "edited since": {service("2"), true}, "gone": {nil, true}} {
		line := newLine(t, answering{})
		line.Live = &liveServer{services: map[string]*corev1.Service{"mux": test.live}}
		key := client.ObjectKeyFromObject(service(""))
		o := &pass{Line: line, memory: newMemory(budget.Limit{}), service: service("1"),
			world: plan.World{Key: key, Mux: &plan.ObservedMux{}}}
		err := o.confirm(t.Context(), []types.NamespacedName{key})
		if (err != nil) != test.fails || test.fails != errors.Is(err, errBehind) || !test.fails && !o.world.Confirmed[key] {
			t.Errorf("%s: %v", name, err)
		}
		if !o.memory.met {
			t.Errorf("%s: the process has read the mux live, and doesn't remember it", name)
		}
		if got := line.services.Latest(key, service("1")); !equality.Semantic.DeepEqual(got, test.live) {
			t.Errorf("%s: the next pass begins with %v", name, got)
		}
	}
}
