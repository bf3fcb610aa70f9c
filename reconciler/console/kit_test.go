package console

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
	"nowake.ai/svc-lb-mux/validation"
)

var muxKey = types.NamespacedName{Namespace: "svc-mux", Name: "mux"}

// desk is a stub of the mux controller, whose objects the test writes.
type desk struct {
	language validation.Language

	mu       sync.Mutex
	services map[types.NamespacedName]*corev1.Service
	looks    int
	broken   bool
	changed  func(types.NamespacedName)
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, muxKey.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{language: language, services: map[types.NamespacedName]*corev1.Service{},
		changed: func(types.NamespacedName) {}}
	d.put(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: muxKey.Namespace, Name: muxKey.Name, Annotations: map[string]string{
			language.Keys().Multiplexer: "true", language.Keys().PortRange: "20000-20009",
		}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Name: "placeholder", Port: 101, Protocol: "TCP"}}},
		Status: corev1.ServiceStatus{
			LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.7"}}}},
	})
	return d
}

func (d *desk) put(svc *corev1.Service) {
	key := types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
	d.mu.Lock()
	d.services[key] = svc
	d.mu.Unlock()
	if mux, about := d.MuxOf(svc); about {
		d.changed(mux)
	}
}

func (d *desk) channel(name string) {
	d.put(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To(validation.DefaultPrefix + "/mux"),
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: "TCP"}},
		},
	})
}

func (d *desk) Look(_ context.Context, key types.NamespacedName) (*sight.Sight, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looks++
	if d.broken {
		return nil, errors.New("broken")
	}
	w := plan.World{Keys: d.language.Keys(), Key: key, Ledger: plan.Reading{Condition: plan.Missing}}
	carried := map[types.NamespacedName][]*discoveryv1.EndpointSlice{}
	for at, svc := range d.services {
		switch kind := d.language.Classify(svc); {
		case at == key:
			w.Mux = plan.ReadMux(d.language, svc, false)
		case kind.Channel():
			w.Channels = append(w.Channels, plan.ReadChannel(d.language, svc))
		}
	}
	// One pass, and the mux after it.
	p := plan.Mux(w, plan.Memory{})
	if p.Publish != nil && p.Publish.Ports != nil {
		w.Mux.Ports = p.Publish.Ports
	}
	for _, claim := range p.InForce {
		carried[claim.Owner.Channel] = []*discoveryv1.EndpointSlice{{
			Ports:     []discoveryv1.EndpointPort{{Name: &claim.MuxName, Port: ptr.To[int32](8080)}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}},
		}}
	}
	return &sight.Sight{World: w, Plan: p, Carried: carried}, nil
}

func (d *desk) News(_ context.Context, _ cache.Cache, changed func(types.NamespacedName)) error {
	d.changed = changed
	return nil
}

func (d *desk) Spoken(context.Context) ([]types.NamespacedName, error) {
	return []types.NamespacedName{muxKey}, nil
}

func (d *desk) Service(_ context.Context, key types.NamespacedName) (*corev1.Service, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.services[key], nil
}

func (d *desk) MuxOf(svc *corev1.Service) (types.NamespacedName, bool) {
	return muxKey, d.language.Classify(svc) != validation.Stranger
}

func (d *desk) LooksAfter(types.NamespacedName) bool { return true }

func (d *desk) looked() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.looks
}

// clock is a clock that the test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(span time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(span)
}

type kit struct {
	*desk
	*clock
	*Console
	registry *prometheus.Registry
}

func newKit(t testing.TB, edits ...func(*Options)) *kit {
	t.Helper()
	k := &kit{desk: newDesk(t), clock: &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		registry: prometheus.NewRegistry()}
	options := Options{
		Language: k.language, Line: k.desk, Cache: &informertest.FakeInformers{}, Timeline: NewTimeline(k.now),
		Leading: func() bool { return true }, Metrics: k.registry, Log: logr.Discard(), Now: k.now, Name: "one",
		Version: "test",
	}
	for _, edit := range edits {
		edit(&options)
	}
	k.Console = New(options)
	k.server.pause = func(context.Context, time.Duration) {}
	return k
}

func withToken(o *Options) { o.Token = "open sesame" }

// ask sends a request as a browser on this machine would.
func (k *kit) ask(method, path string, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost:8080"+path, nil)
	for _, edit := range edits {
		edit(r)
	}
	w := httptest.NewRecorder()
	k.handler.ServeHTTP(w, r)
	return w
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// refusals returns the number of counted refusals with a reason.
func (k *kit) refusals(t *testing.T, reason string) int {
	t.Helper()
	families, err := k.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "svc_lb_mux_console_refused_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			if strings.Contains(metric.String(), `"`+reason+`"`) {
				return int(metric.GetCounter().GetValue())
			}
		}
	}
	return 0
}
