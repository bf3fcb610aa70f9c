package backends

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// host is the control plane's address, where this test listens in place of a pod.
const host = "172.31.0.1"

func packets(t *testing.T, w world) {
	listener, err := w.Inside().Listen("tcp", host+":9000")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "it is I")
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	r := w.run(t)
	w.mux(t, "packets", "aaaa")
	w.channel(t, "packets", "packets", "http")
	r.board.set("packets", "packets", "http=aaaa")
	w.source(t, "packets", "packets", []string{"http:9000"}, []string{host})
	w.carries(t, "packets", "aaaa 9000: "+host)
	var address string
	cluster.Eventually(t, "the mux has an address", func(ctx context.Context) error {
		svc, err := w.Client.CoreV1().Services(muxes).Get(ctx, "packets", metav1.GetOptions{})
		if err == nil && len(svc.Status.LoadBalancer.Ingress) == 0 {
			err = fmt.Errorf("no slice yet")
		}
		if err == nil {
			address = svc.Status.LoadBalancer.Ingress[0].IP
		}
		return err
	})
	cluster.Eventually(t, "the pod answers from outside", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+":8001", nil)
		if err != nil {
			return err
		}
		response, err := w.Outside().HTTP().Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err == nil && string(body) != "it is I" {
			err = fmt.Errorf("the answer is %q", body)
		}
		return err
	})
}

func readiness(t *testing.T, w world) {
	r := w.run(t)
	w.mux(t, "readiness", "aaaa", "bbbb")
	for _, name := range []string{"ready-a", "ready-b"} {
		w.channel(t, name, "readiness", "http")
		r.board.set("readiness", name, "http="+map[string]string{"ready-a": "aaaa", "ready-b": "bbbb"}[name])
		w.source(t, name, name, []string{"http:8080"}, []string{"10.0.0.1", "10.0.0.2"})
	}
	w.carries(t, "readiness", "aaaa 8080: 10.0.0.1 10.0.0.2", "bbbb 8080: 10.0.0.1 10.0.0.2")
	for _, endpoints := range [][]string{{"10.0.0.1", "10.0.0.2-"}, {"10.0.0.1", "10.0.0.2"}, {"10.0.0.1"},
		{"10.0.0.1", "10.0.0.3"}} {
		if got := r.costs(t, func() {
			w.source(t, "ready-a", "ready-a", []string{"http:8080"}, endpoints)
			w.carries(t, "readiness", "aaaa 8080: "+strings.Join(endpoints, " "), "bbbb 8080: 10.0.0.1 10.0.0.2")
		}); got != "1 patch endpointslices" {
			t.Errorf("a change of readiness costs %s", got)
		}
	}
	if got := r.costs(t, func() {
		w.Kubectl(t, "annotate", "service", "--namespace="+app, "ready-a", "some=note")
		w.Kubectl(t, "annotate", "service", "--namespace="+muxes, "readiness", "some=note")
		w.Kubectl(t, "label", "endpointslice", "--namespace="+app, "ready-a", "some=label")
	}); got != "" {
		t.Errorf("a change without effect on backends costs %s", got)
	}
}

// endpointsFirst creates endpoints before their channel: the original ignored them until they changed again.
func endpointsFirst(t *testing.T, w world) {
	r := w.run(t)
	w.source(t, "late", "late", []string{"http:8080"}, []string{"10.0.0.1"})
	r.quiet(t)
	w.channel(t, "late", "late", "http")
	r.quiet(t)
	r.board.set("late", "late", "http=aaaa")
	r.quiet(t)
	w.mux(t, "late", "aaaa")
	w.carries(t, "late", "aaaa 8080: 10.0.0.1")
}

// unnamedPort creates an endpoint port without a name: it silently stopped the original's whole mux.
func unnamedPort(t *testing.T, w world) {
	r := w.run(t)
	w.mux(t, "unnamed", "aaaa", "bbbb")
	w.channel(t, "bad", "unnamed", "http")
	w.channel(t, "good", "unnamed", "http")
	r.board.set("unnamed", "bad", "http=aaaa")
	w.Apply(t, `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: bad, namespace: app, labels: {kubernetes.io/service-name: bad}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.0.0.1]}]
`)
	r.board.set("unnamed", "good", "http=bbbb")
	w.source(t, "good", "good", []string{"http:8080"}, []string{"10.0.0.2"})
	w.carries(t, "unnamed", "bbbb 8080: 10.0.0.2")
	w.source(t, "bad", "bad-but-one", []string{":1", "http:8080"}, []string{"10.0.0.1"})
	w.carries(t, "unnamed", "aaaa 8080: 10.0.0.1", "bbbb 8080: 10.0.0.2")
}

// deletedEndpoints deletes a channel's Endpoints: they stayed on the original's mux for good.
func deletedEndpoints(t *testing.T, w world) {
	r := w.run(t)
	w.mux(t, "deleted", "aaaa")
	w.channel(t, "deleted", "deleted", "http")
	r.board.set("deleted", "deleted", "http=aaaa")
	w.Apply(t, `
apiVersion: v1
kind: Endpoints
metadata: {name: deleted, namespace: app}
subsets: [{addresses: [{ip: 192.0.2.1}], ports: [{name: http, port: 8080}]}]
`)
	w.carries(t, "deleted", "aaaa 8080: 192.0.2.1")
	w.Kubectl(t, "delete", "endpoints", "--namespace="+app, "deleted")
	w.carries(t, "deleted")
}

// realPods lets Kubernetes' own controller write the slices, for pods whose status the test sets.
func realPods(t *testing.T, w world) {
	r := w.run(t)
	w.mux(t, "pods", "aaaa")
	w.Apply(t, `
apiVersion: v1
kind: Service
metadata: {name: pods, namespace: app}
spec: {type: LoadBalancer, loadBalancerClass: `+prefix+`/pods, selector: {app: pods},
	ports: [{name: http, port: 80, targetPort: web}]}
---
apiVersion: v1
kind: Node
metadata: {name: pods}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: pods, namespace: app}
`)
	r.board.set("pods", "pods", "http=aaaa")
	for i, port := range []int{8080, 9090} { // a named target port may differ between pods
		w.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: pods-%d, namespace: app, labels: {app: pods}}
spec: {nodeName: pods, serviceAccountName: pods, automountServiceAccountToken: false,
  containers: [{name: web, image: none, ports: [{name: web, containerPort: %d}]}]}
`, i, port))
	}
	for i := range 2 {
		w.status(t, fmt.Sprintf("pods-%d", i), fmt.Sprintf("10.9.0.%d", i+1), "True")
	}
	w.carries(t, "pods", "aaaa 8080: 10.9.0.1", "aaaa 9090: 10.9.0.2")
	w.status(t, "pods-1", "10.9.0.2", "False")
	w.carries(t, "pods", "aaaa 8080: 10.9.0.1", "aaaa 9090: 10.9.0.2-")
	w.Kubectl(t, "delete", "pod", "--namespace="+app, "--force", "--grace-period=0", "pods-0", "pods-1")
	w.carries(t, "pods")
}

func (w world) status(t *testing.T, pod, ip, ready string) {
	t.Helper()
	patch := fmt.Sprintf(
		`{"status":{"phase":"Running","podIP":%q,"podIPs":[{"ip":%q}],"conditions":[{"type":"Ready","status":%q}]}}`, ip, ip,
		ready)
	if _, err := w.Client.CoreV1().Pods(app).Patch(t.Context(), pod, types.StrategicMergePatchType, []byte(patch),
		metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

func handWritten(t *testing.T, w world) {
	r := w.run(t)
	w.mux(t, "hand", "aaaa", "bbbb")
	w.channel(t, "hand", "hand", "http", "dns")
	r.board.set("hand", "hand", "http=aaaa", "dns/UDP=bbbb")
	w.Apply(t, `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: by-hand, namespace: app, labels: {kubernetes.io/service-name: hand, team: a}, annotations: {note: x}}
addressType: IPv4
ports: [{name: http, port: 8080, appProtocol: kubernetes.io/h2c}, {name: dns, port: 53, protocol: UDP},
  {name: other, port: 1}]
endpoints:
- {addresses: [192.0.2.7]}
- addresses: [192.0.2.8]
  conditions: {ready: false, serving: true, terminating: true}
  hostname: web-0
  nodeName: node-1
  zone: zone-a
  hints: {forZones: [{name: zone-a}]}
  targetRef: {kind: Pod, namespace: app, name: web-0}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: by-name, namespace: app, labels: {kubernetes.io/service-name: hand}}
addressType: FQDN
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [backend.example.com]}]
`)
	w.carries(t, "hand", "aaaa 8080, bbbb 53: 192.0.2.7 192.0.2.8-")
	got := w.one(t, "hand")
	source, err := w.Client.DiscoveryV1().EndpointSlices(app).Get(t.Context(), "by-hand", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want, is := fmt.Sprintf("%+v", source.Endpoints[1].Hints), fmt.Sprintf("%+v", got.Endpoints[1].Hints); want != is {
		t.Errorf("hints %s, not %s", is, want)
	}
	if e := got.Endpoints[1]; *e.NodeName != "node-1" || *e.Zone != "zone-a" || *e.Hostname != "web-0" ||
		e.TargetRef.Name != "web-0" ||
		*got.Ports[0].AppProtocol != "kubernetes.io/h2c" || *got.Ports[1].Protocol != corev1.ProtocolUDP {
		t.Errorf("endpoints aren't copied completely: %+v", got)
	}
	if len(got.Labels) != 5 || got.Labels[prefix+"/source"] != "by-hand" || got.Annotations[prefix+"/managed"] != "true" ||
		got.Annotations[prefix+"/mux"] != "svc-mux/hand" || len(got.Annotations) != 2 {
		t.Errorf("labels %v, annotations %v", got.Labels, got.Annotations)
	}
	if owner := got.OwnerReferences; len(owner) != 1 || owner[0].Kind != "Service" || owner[0].Name != "hand" ||
		owner[0].Controller != nil || owner[0].BlockOwnerDeletion != nil {
		t.Errorf("owners %+v", owner)
	}
}

func twelveHundred(t *testing.T, w world) {
	r := w.run(t)
	w.mux(t, "many", "aaaa")
	w.channel(t, "many", "many", "http")
	r.board.set("many", "many", "http=aaaa")
	all := make([]string, 1200)
	for i := range all {
		all[i] = fmt.Sprintf("10.1.%d.%d", i/250, i%250+1)
	}
	w.source(t, "many", "many-1", []string{"http:8080"}, all[:1000])
	w.source(t, "many", "many-2", []string{"http:8080"}, all[1000:])
	w.carries(t, "many", "aaaa 8080: "+strings.Join(all[:1000], " "), "aaaa 8080: "+strings.Join(all[1000:], " "))
	if got := r.costs(t, func() {
		w.source(t, "many", "many-1", []string{"http:8080"}, all[1:1000])
		w.carries(t, "many", "aaaa 8080: "+strings.Join(all[1:1000], " "), "aaaa 8080: "+strings.Join(all[1000:], " "))
	}); got != "1 patch endpointslices" {
		t.Errorf("the removal of one endpoint costs %s", got)
	}
}

func families(t *testing.T, w world) {
	r := w.run(t)
	four, six := corev1.IPv4Protocol, corev1.IPv6Protocol
	for name, list := range map[string][]corev1.IPFamily{"four": {four}, "six": {six}, "dual": {four, six}} {
		w.muxWith(t, name, list, "aaaa")
		w.channel(t, name, name, "http")
		r.board.set(name, name, "http=aaaa")
		w.source(t, name, name+"-4", []string{"http:8080"}, []string{"10.0.0.1"})
		w.source(t, name, name+"-6", []string{"http:8080"}, []string{"2001:db8::1"})
	}
	w.carries(t, "four", "aaaa 8080: 10.0.0.1")
	w.carries(t, "six", "aaaa 8080: 2001:db8::1")
	w.carries(t, "dual", "aaaa 8080: 10.0.0.1", "aaaa 8080: 2001:db8::1")
	// The mux gets a second family.
	w.Kubectl(t, "patch", "service", "--namespace="+muxes, "four", "-p",
		`{"spec":{"ipFamilyPolicy":"RequireDualStack","ipFamilies":["IPv4","IPv6"]}}`)
	w.carries(t, "four", "aaaa 8080: 10.0.0.1", "aaaa 8080: 2001:db8::1")
}

// renamed changes a claim's name: the slice must change from the old name to the new one in one update.
func renamed(t *testing.T, w world) {
	r := w.run(t)
	w.mux(t, "renamed", "1f0c5fd")
	w.channel(t, "renamed", "renamed", "http")
	r.board.set("renamed", "renamed", "http=1f0c5fd")
	w.source(t, "renamed", "renamed-1", []string{"http:8080"}, []string{"10.0.0.1"})
	w.source(t, "renamed", "renamed-2", []string{"http:9090"}, []string{"10.0.0.2"})
	w.carries(t, "renamed", "1f0c5fd 8080: 10.0.0.1", "1f0c5fd 9090: 10.0.0.2")
	if got := r.costs(t, func() {
		r.board.set("renamed", "renamed", "http=2e1d4c0b7f6a59384756")
		w.carries(t, "renamed", "2e1d4c0b7f6a59384756 8080: 10.0.0.1", "2e1d4c0b7f6a59384756 9090: 10.0.0.2")
	}); got != "2 patch endpointslices" {
		t.Errorf("the rename costs %s", got)
	}
	r.board.set("renamed", "renamed")
	w.carries(t, "renamed")
}
