package services

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/validation"
)

// drainServer is an API server with a mux and its channels, by name. The ledger is lost at first.
type drainServer struct {
	client.Client
	language   validation.Language
	services   map[string]*corev1.Service
	ledger     *corev1.ConfigMap
	unwritable map[string]bool // services whose status can't be written
}

func (g *drainServer) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if cm, ok := obj.(*corev1.ConfigMap); ok && g.ledger != nil {
		g.ledger.DeepCopyInto(cm)
		return nil
	}
	svc, ok := obj.(*corev1.Service)
	if !ok || g.services[key.Name] == nil {
		return apierrors.NewNotFound(corev1.Resource("services"), key.Name)
	}
	g.services[key.Name].DeepCopyInto(svc)
	return nil
}

func bumpVersion(svc *corev1.Service) {
	version, _ := strconv.Atoi(svc.ResourceVersion)
	svc.ResourceVersion = strconv.Itoa(version + 1)
}

func (g *drainServer) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	obj.SetUID("ledger")
	obj.SetResourceVersion("1")
	g.ledger = obj.(*corev1.ConfigMap).DeepCopy()
	return nil
}

func (g *drainServer) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	body, err := patch.Data(obj)
	if err != nil {
		return err
	}
	mux := g.services[obj.GetName()]
	bumpVersion(mux)
	if err := json.Unmarshal(body, &struct{ Spec *corev1.ServiceSpec }{&mux.Spec}); err != nil {
		return err
	}
	mux.DeepCopyInto(obj.(*corev1.Service))
	return nil
}

func (g *drainServer) Status() client.SubResourceWriter { return statuses{of: g} }

type statuses struct {
	client.SubResourceWriter
	of *drainServer
}

func (s statuses) Patch(_ context.Context, obj client.Object, _ client.Patch,
	_ ...client.SubResourcePatchOption) error {
	if s.of.unwritable[obj.GetName()] {
		return apierrors.NewTooManyRequestsError("busy")
	}
	svc := s.of.services[obj.GetName()]
	bumpVersion(svc)
	svc.Status, svc.Annotations = corev1.ServiceStatus{}, map[string]string{}
	svc.DeepCopyInto(obj.(*corev1.Service))
	return nil
}

// freshCache is a cache of a drainServer that is never behind.
type freshCache struct{ *drainServer }

func (c freshCache) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	svc, ok := obj.(*corev1.Service)
	if !ok || c.services[key.Name] == nil {
		return apierrors.NewNotFound(corev1.Resource("services"), key.Name)
	}
	c.services[key.Name].DeepCopyInto(svc)
	Trim(svc, c.language, nil)
	return nil
}

func (c freshCache) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	services, ok := list.(*corev1.ServiceList)
	if !ok {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.services)) {
		svc := c.services[name].DeepCopy()
		Trim(svc, c.language, nil)
		services.Items = append(services.Items, *svc)
	}
	return nil
}

// newDrainServer returns a server with a mux and with channels that have these numbers.
func newDrainServer(t *testing.T, channels map[string]int32) *drainServer {
	t.Helper()
	g := &drainServer{language: languageOf(t), services: map[string]*corev1.Service{}, unwritable: map[string]bool{}}
	mux := service("1")
	mux.Spec.Type = corev1.ServiceTypeLoadBalancer
	mux.Annotations[g.language.Keys().PortRange] = "20000-20099"
	mux.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	g.services["mux"] = mux
	for name, number := range channels {
		public := strconv.Itoa(int(number))
		mux.Spec.Ports = append(mux.Spec.Ports,
			corev1.ServicePort{Name: strings.Repeat("a", 15) + public, Port: number, Protocol: "TCP"})
		g.services[name] = &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name, UID: types.UID(name), ResourceVersion: "1",
				Annotations: map[string]string{g.language.Keys().Ports: "http:" + public + "->" + public}},
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To(validation.DefaultPrefix + "/mux"),
				Ports: []corev1.ServicePort{{Name: "http", Port: number, Protocol: "TCP"}},
			},
			Status: mux.Status,
		}
	}
	return g
}

// remaining returns the channels that show an address, and the ports of the mux.
func (g *drainServer) remaining() (shows []string, ports []int32) {
	for _, name := range slices.Sorted(maps.Keys(g.services)) {
		if svc := g.services[name]; name != "mux" && len(svc.Status.LoadBalancer.Ingress) > 0 {
			shows = append(shows, name)
		}
	}
	for _, port := range g.services["mux"].Spec.Ports {
		ports = append(ports, port.Port)
	}
	slices.Sort(ports)
	return shows, ports
}

// TestDrainSkipsAChannelThatCannotBeWritten: the channel keeps its address and its port until its status can be
// written.
func TestDrainSkipsAChannelThatCannotBeWritten(t *testing.T) {
	g := newDrainServer(t, map[string]int32{"api": 20000, "bad": 20001, "web": 20002})
	now, cache := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), freshCache{g}
	slices := func(context.Context, client.Reader, types.NamespacedName) ([]*discoveryv1.EndpointSlice, error) {
		return nil, nil
	}
	line := New(Options{
		Language: g.language, Cache: cache, Live: g, Writer: g, Sources: slices, OnMux: slices, Metrics: unmetered{},
		Ledgers: ledger.NewStore(g.language.Keys(), cache, g, g), Board: ledger.NewBoard(nil), Now: func() time.Time {
			return now
		},
	})
	mux := client.ObjectKeyFromObject(g.services["mux"])
	check := func(shows []string, ports []int32) {
		t.Helper()
		gotShows, gotPorts := g.remaining()
		if diff := cmp.Diff(shows, gotShows) + cmp.Diff(ports, gotPorts); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
	}
	check([]string{"api", "bad", "web"}, []int32{20000, 20001, 20002})
	g.unwritable["bad"] = true
	for range 2 {
		_, _ = line.Drain(t.Context(), mux)
	}
	check([]string{"bad"}, []int32{20001})
	for range 5 {
		p, err := line.Drain(t.Context(), mux)
		if err == nil || !strings.Contains(err.Error(), "app/bad") {
			t.Fatalf("the drain seems done though app/bad has its port: %v, %+v", err, p)
		}
		now = now.Add(time.Second)
	}
	delete(g.unwritable, "bad")
	now = now.Add(longestPause)
	for range 2 {
		if p, err := line.Drain(t.Context(), mux); err != nil {
			t.Fatalf("%v, %+v", err, p)
		}
	}
	check(nil, []int32{101})
	if p, err := line.Drain(t.Context(), mux); err != nil || !p.Empty() {
		t.Errorf("the drain doesn't end: %v, %+v", err, p)
	}
}
