package contract

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/validation"
)

const prefix = validation.DefaultPrefix + "/"

func key(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// world returns a mux with an address and a channel that fulfil the contract.
func world(t *testing.T) *World {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	mux := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "svc-mux", Name: "mux", UID: "mux-uid",
		Annotations: map[string]string{prefix + "multiplexer": "true", prefix + "port-range": "203-204",
			prefix + "generation": "2"}}}
	mux.Spec.Type = corev1.ServiceTypeLoadBalancer
	mux.Spec.Ports = []corev1.ServicePort{{Name: "59c41a87cea606f2ca8f", Port: 203, Protocol: corev1.ProtocolTCP}}
	mux.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.10"}, {Hostname: "lb.example.com"}}
	web := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "web",
		Annotations: map[string]string{prefix + "external-ports": "http:auto", prefix + "ports": "http:80->203"}}}
	web.Spec.Type, web.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, ptr.To(prefix+"mux")
	web.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}}
	web.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "lb.example.com"},
		{IP: "203.0.113.10", IPMode: ptr.To(corev1.LoadBalancerIPModeProxy)}}
	for _, kind := range []string{"Accepted", "Programmed", "BackendsReady"} {
		web.Status.Conditions = append(web.Status.Conditions,
			metav1.Condition{Type: prefix + kind, Status: metav1.ConditionTrue})
	}
	source := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "web-1",
		Labels: map[string]string{discoveryv1.LabelServiceName: "web"}}, AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}}},
		Ports: []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(8080)),
			Protocol: ptr.To(corev1.ProtocolTCP)}}}
	carried := source.DeepCopy()
	carried.ObjectMeta = metav1.ObjectMeta{Namespace: "svc-mux", Name: "mux-1",
		OwnerReferences: []metav1.OwnerReference{{UID: "mux-uid"}},
		Labels: map[string]string{discoveryv1.LabelServiceName: "mux", prefix + "channel-namespace": "app",
			prefix + "channel-name": "web", prefix + "source": "web-1"}}
	carried.Ports[0].Name = ptr.To("59c41a87cea606f2ca8f")
	return &World{
		Language: language, Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Unexplained: func(types.NamespacedName, *corev1.ServicePort) bool { return false },
		Services:    map[types.NamespacedName]*corev1.Service{key("svc-mux", "mux"): mux, key("app", "web"): web},
		ConfigMaps: map[types.NamespacedName]*corev1.ConfigMap{key("svc-mux",
			"mux-port-allocations"): {Data: map[string]string{"allocations.json": `{"generation":2,
			"portClaims":[{"namespace":"app","service":"web","portName":"http","protocol":"TCP","channelPort":80,
			"muxPort":203,"source":"auto","name":"59c41a87cea606f2ca8f"}]}`}}},
		Slices: map[types.NamespacedName]*discoveryv1.EndpointSlice{key("app", "web-1"): source,
			key("svc-mux", "mux-1"): carried},
	}
}

// TestEachBreachIsReported changes one thing in a world that fulfils the contract.
func TestEachBreachIsReported(t *testing.T) {
	if wrong := world(t).AtRest(); wrong != "" {
		t.Fatalf("the unchanged world breaks the contract: %s", wrong)
	}
	mux := func(w *World) *corev1.Service { return w.Services[key("svc-mux", "mux")] }
	web := func(w *World) *corev1.Service { return w.Services[key("app", "web")] }
	carried := func(w *World) *discoveryv1.EndpointSlice { return w.Slices[key("svc-mux", "mux-1")] }
	ledger := func(w *World, before, now string) {
		data := w.ConfigMaps[key("svc-mux", "mux-port-allocations")].Data
		data["allocations.json"] = strings.Replace(data["allocations.json"], before, now, 1)
	}
	for name, breach := range map[string]struct {
		told string
		make func(*World)
	}{
		"the mux lacks a claimed port": {"ports:", func(w *World) { mux(w).Spec.Ports[0].Port = 204 }},
		"the mux has a port of ours without a claim": {"ports:", func(w *World) {
			mux(w).Spec.Ports = append(mux(w).Spec.Ports, corev1.ServicePort{Name: "f5513f9643d258388bc2", Port: 204})
		}},
		"the placeholder stays beside a port": {"placeholder:", func(w *World) {
			mux(w).Spec.Ports = append(mux(w).Spec.Ports, corev1.ServicePort{Name: "placeholder", Port: 101})
		}},
		"the stamp is behind the ledger": {"stamp:", func(w *World) { ledger(w, `"generation":2`, `"generation":3`) }},
		"a claim's port is gone": {"ledger:", func(w *World) {
			ledger(w, `"portName":"http"`, `"portName":"old"`)
		}},
		"a claim is being released": {"ledger:", func(w *World) {
			ledger(w, `"name":`, `"state":"releasing","name":`)
		}},
		"a channel lacks a free number": {"requests:", func(w *World) {
			web(w).Annotations[prefix+"external-ports"] = "http:300"
		}},
		"an address is missing": {"address:", func(w *World) {
			web(w).Status.LoadBalancer.Ingress = web(w).Status.LoadBalancer.Ingress[:1]
		}},
		"an address is in another mode": {"address:", func(w *World) {
			web(w).Status.LoadBalancer.Ingress[1].IPMode = nil
		}},
		"an address has ports": {"address:", func(w *World) {
			web(w).Status.LoadBalancer.Ingress[1].Ports = []corev1.PortStatus{{Port: 80}}
		}},
		"the annotation has another number": {"note:", func(w *World) {
			web(w).Annotations[prefix+"ports"] = "http:80->204"
		}},
		"a condition is wrong": {"conditions: Accepted", func(w *World) {
			web(w).Status.Conditions[0].Status = metav1.ConditionFalse
		}},
		"a condition is missing": {"conditions: Programmed", func(w *World) {
			web(w).Status.Conditions = web(w).Status.Conditions[:1]
		}},
		"BackendsReady without an endpoint": {"conditions: BackendsReady", func(w *World) {
			w.Slices[key("app", "web-1")].Endpoints, carried(w).Endpoints = nil, nil
		}},
		"a former channel keeps conditions": {"status:", func(w *World) {
			mux(w).Spec.Ports, w.ConfigMaps, w.Slices = mux(w).Spec.Ports[:0], nil, nil
			mux(w).Spec.Ports = []corev1.ServicePort{{Name: "placeholder", Port: 101}}
			web(w).Spec.Type, web(w).Spec.LoadBalancerClass = corev1.ServiceTypeClusterIP, nil
		}},
		"a slice is missing": {"slices: nothing", func(w *World) {
			delete(w.Slices, key("svc-mux", "mux-1"))
			web(w).Status.Conditions[2].Status = metav1.ConditionFalse
		}},
		"a slice has other endpoints": {"slices:", func(w *World) {
			carried(w).Endpoints[0].Addresses = []string{"10.1.0.9"}
		}},
		"a slice has another port":  {"slices:", func(w *World) { carried(w).Ports[0].Port = ptr.To(int32(9)) }},
		"a slice has another owner": {"slices:", func(w *World) { carried(w).OwnerReferences[0].UID = "another" }},
		"a slice carries another Service": {"slices:", func(w *World) {
			carried(w).Labels[prefix+"channel-name"] = "other"
			web(w).Status.Conditions[2].Status = metav1.ConditionFalse
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := world(t)
			breach.make(w)
			if wrong := w.AtRest(); !strings.HasPrefix(wrong, breach.told) {
				t.Errorf("the difference is %q, want %q", wrong, breach.told)
			}
		})
	}
}

// TestRenameKeepsBackends lets the claim follow a rename that the channel's EndpointSlices don't have yet.
func TestRenameKeepsBackends(t *testing.T) {
	w := world(t)
	source := w.Slices[key("app", "web-1")]
	source.Ports[0].Name = ptr.To("old")
	if wrong := w.AtRest(); wrong != "" {
		t.Errorf("backends under the old name: %s", wrong)
	}
	source.Ports[0].Port = ptr.To(int32(8081))
	if wrong := w.AtRest(); !strings.HasPrefix(wrong, "slices:") {
		t.Errorf("the source no longer lists these backends, but the difference is %q", wrong)
	}
}

// TestNothingOfTheReconcilerIsImported checks that package contract is independent of the reconciler.
func TestNothingOfTheReconcilerIsImported(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			if path := strings.Trim(spec.Path.Value, `"`); strings.HasPrefix(path, "nowake.ai/svc-lb-mux/") &&
				path != "nowake.ai/svc-lb-mux/validation" {
				t.Errorf("%s imports %s", file, path)
			}
		}
	}
}
