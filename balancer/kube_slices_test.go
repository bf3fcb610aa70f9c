package balancer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"nowake.ai/svc-lb-mux/validation"
)

// apiStub is as much of an API server as a KubeSource needs. Its lists are those of the moment, and its watches bring
// what a test sends.
type apiStub struct {
	mu     sync.Mutex
	lists  map[string][]runtime.Object // by the last part of the path
	events map[string]chan string
}

func newAPIStub() *apiStub {
	s := &apiStub{lists: map[string][]runtime.Object{}, events: map[string]chan string{}}
	for _, resource := range []string{"services", "endpointslices", "configmaps"} {
		s.events[resource] = make(chan string)
	}
	return s
}

func (s *apiStub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		kind := map[string][2]string{"services": {"v1", "ServiceList"}, "configmaps": {"v1", "ConfigMapList"},
			"endpointslices": {"discovery.k8s.io/v1", "EndpointSliceList"}}[resource]
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": kind[0], "kind": kind[1],
			"metadata": map[string]string{"resourceVersion": "5"}, "items": s.lists[resource]})
		return
	}
	if r.URL.Query().Get("sendInitialEvents") != "" {
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(
			w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,`+
				`"message":"no initial events here"}`)
		return
	}
	w.(http.Flusher).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case event := <-s.events[resource]:
			fmt.Fprintln(w, event)
			w.(http.Flusher).Flush()
		}
	}
}

// put adds an object to a list, and sends the event to a watch.
func (s *apiStub) put(t *testing.T, resource string, object runtime.Object) {
	t.Helper()
	s.mu.Lock()
	s.lists[resource] = append(s.lists[resource], object)
	s.mu.Unlock()
	text, err := json.Marshal(map[string]any{"type": "ADDED", "object": object})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case s.events[resource] <- string(text):
	case <-time.After(10 * time.Second):
		t.Fatal("nobody watches", resource)
	}
}

func languageOfTest(t testing.TB) validation.Language {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "edge")
	if err != nil {
		t.Fatal(err)
	}
	return language
}

func muxOfTest(t testing.TB, name, pool string) *corev1.Service {
	class := languageOfTest(t).FormatGatewayClass(pool)
	return &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: name, UID: types.UID(name + "-uid"), ResourceVersion: "6",
			Labels: map[string]string{"a": "b"}},
		Spec: corev1.ServiceSpec{LoadBalancerClass: &class, Type: corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, NodePort: 30080}}}}
}

// sliceOfTest is a slice of a mux, as the reconciler writes it.
func sliceOfTest(t testing.TB, name, mux, owner string) *discoveryv1.EndpointSlice {
	keys, port, number, ready, node := languageOfTest(t).Keys(), "http", int32(8080), true, "node-b"
	one := discoveryv1.Endpoint{Addresses: []string{"10.1.0.1", "10.1.0.2"},
		Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		NodeName:   &node, Zone: &node, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "web-1"}}
	two := *one.DeepCopy()
	*two.Conditions.Ready = false
	return &discoveryv1.EndpointSlice{TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: name, UID: types.UID(name + "-uid"), ResourceVersion: "7",
			Labels: map[string]string{discoveryv1.LabelServiceName: mux,
				discoveryv1.LabelManagedBy: validation.DefaultPrefix, "x": "y"},
			Annotations:     map[string]string{keys.Managed: "true", keys.SourceRanges: "", "x": strings.Repeat("x", 1000)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: mux, UID: types.UID(owner)}}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &port, Port: &number}},
		Endpoints: []discoveryv1.Endpoint{one, two}}
}

// sourceOfTest returns a running source of pool p.
func sourceOfTest(t *testing.T, api *apiStub) *KubeSource {
	t.Helper()
	server := httptest.NewServer(api)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	k, err := NewKubeSource(client, Watched{Language: languageOfTest(t), Namespace: "lb", Pool: "p"}, zap.NewNop().Sugar())
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { k.Run(t.Context()) })
	t.Cleanup(func() {
		running.Wait() // the context of a test ends before its cleanup
		server.CloseClientConnections()
		server.Close()
	})
	return k
}

func await(t *testing.T, k *KubeSource, what string, holds func(News) bool) {
	t.Helper()
	for range 1000 {
		if holds(k.Latest()) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("it isn't true that %s: %+v", what, k.Latest())
}

func TestOfASliceOnlyWhatIsUsedIsKept(t *testing.T) {
	api := newAPIStub()
	foreign := muxOfTest(t, "foreign", "p")
	foreign.Spec.LoadBalancerClass = nil
	api.lists["services"] = []runtime.Object{muxOfTest(t, "web", "p"), muxOfTest(t, "other", "q"), foreign}
	api.lists["endpointslices"] = []runtime.Object{sliceOfTest(t, "ours", "web", "web-uid"),
		sliceOfTest(t, "forged", "web", "another-uid"),
		sliceOfTest(t, "of-another-pool", "other", "other-uid"), sliceOfTest(t, "of-no-pool", "foreign", "foreign-uid")}
	k := sourceOfTest(t, api)
	await(t, k, "both lists were read", func(n News) bool { return n.Muxes.IsRead && n.Slices.IsRead })
	n := k.Latest()
	if len(n.Slices.Items) != 1 || n.Slices.Items[0].Name != "ours" || len(n.Muxes.Items) != 2 ||
		n.Muxes.Items[0].Name != "other" {
		t.Fatalf("%d slices and %d muxes: %+v", len(n.Slices.Items), len(n.Muxes.Items), n)
	}
	slice := n.Slices.Items[0]
	if text, _ := json.Marshal(slice); len(slice.Endpoints) != 1 || strings.Contains(string(text), "web-1") ||
		strings.Contains(string(text), "xxx") || strings.Contains(string(text), `"y"`) {
		t.Errorf("kept: %s", text)
	}
	if other := n.Muxes.Items[0]; len(other.Spec.Ports) > 0 || len(n.Muxes.Items[1].Spec.Ports) != 1 {
		t.Errorf("of another pool's mux, its ports are kept: %+v", other.Spec)
	}
	if text, _ := json.Marshal(n.Muxes.Items); strings.Contains(string(text), "30080") ||
		strings.Contains(string(text), `"b"`) {
		t.Errorf("kept: %s", text)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, owner := range k.slices[0].list.strangers {
		if key.Name == "ours" || owner.uid == "" {
			t.Errorf("strangers: %v", k.slices[0].list.strangers)
		}
	}
}

func TestChangedForeignSliceStartsNoPass(t *testing.T) {
	api := newAPIStub()
	api.lists["services"] = []runtime.Object{muxOfTest(t, "web", "p"), muxOfTest(t, "other", "q")}
	k := sourceOfTest(t, api)
	await(t, k, "both lists were read", func(n News) bool {
		return n.Muxes.IsRead && n.Slices.IsRead && n.ClaimsFault != ""
	})
	time.Sleep(100 * time.Millisecond) // the wake-ups of the start
	select {
	case <-k.Changed():
	default:
	}
	for i := range 3 {
		api.put(t, "endpointslices", sliceOfTest(t, fmt.Sprint("forged-", i), "web", "another-uid"))
	}
	changed := muxOfTest(t, "service", "")
	changed.Spec.LoadBalancerClass = nil
	api.put(t, "services", changed)
	api.put(t, "endpointslices", sliceOfTest(t, "of-another-pool", "other", "other-uid"))
	for known := 0; known < 4; time.Sleep(time.Millisecond) {
		k.mu.Lock()
		known = len(k.slices[0].list.strangers)
		k.mu.Unlock()
	}
	select {
	case <-k.Changed():
		t.Error("foreign objects started a pass")
	case <-time.After(100 * time.Millisecond):
	}
	k.mu.Lock()
	list := k.slices[0].list
	k.mu.Unlock()
	api.put(t, "services", muxOfTest(t, "other", "q")) // its slice is known, and no slice of this pool
	await(t, k, "the slices stay read after a change of another pool's mux", func(n News) bool { return n.Slices.IsRead })
	time.Sleep(100 * time.Millisecond)
	k.mu.Lock()
	if k.slices[0].list != list || !k.slices[0].isRead {
		t.Error("a change of another pool's mux made the agent list all slices again")
	}
	k.mu.Unlock()
	api.put(t, "endpointslices", sliceOfTest(t, "ours", "web", "web-uid"))
	select {
	case <-k.Changed():
	case <-time.After(10 * time.Second):
		t.Error("a slice of ours started no pass")
	}
}

// A mux and its slices come over two watches.
func TestSliceThatComesBeforeItsMuxIsUsed(t *testing.T) {
	api := newAPIStub()
	k := sourceOfTest(t, api)
	await(t, k, "both lists were read", func(n News) bool { return n.Muxes.IsRead && n.Slices.IsRead })
	api.put(t, "endpointslices", sliceOfTest(t, "early", "web", "web-uid"))
	for known := 0; known < 1; time.Sleep(time.Millisecond) {
		k.mu.Lock()
		known = len(k.slices[0].list.strangers)
		k.mu.Unlock()
	}
	api.put(t, "services", muxOfTest(t, "web", "p"))
	await(t, k, "the news has the mux", func(n News) bool {
		if len(n.Muxes.Items) == 1 && n.Slices.IsRead && len(n.Slices.Items) == 0 {
			t.Error("the mux is there, and its slice is missing although the slices count as read")
		}
		return len(n.Muxes.Items) == 1 && len(n.Slices.Items) == 1
	})
	await(t, k, "the new watch goes on", func(n News) bool {
		if len(n.Slices.Items) == 1 { // again and again: the former watch, which ends, may take an event
			api.put(t, "endpointslices", sliceOfTest(t, "late", "web", "web-uid"))
		}
		return len(n.Slices.Items) == 2
	})
}
