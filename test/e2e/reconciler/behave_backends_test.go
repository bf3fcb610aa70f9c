package reconciler

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/test/cluster/faults"
)

// twoFamilies checks that a mux carries only its own families. A channel that has none of them says so in its
// conditions.
func (s cases) twoFamilies(t *testing.T) {
	const four, six = corev1.IPv4Protocol, corev1.IPv6Protocol
	dual := s.mux(t, "dual", families(four, six))
	both := s.channel(t, "families", "both", dual, families(four, six))
	s.backends(t, both, "both-4", "http:8080", "10.0.0.1")
	s.backends(t, both, "both-6", "http:8080", "2001:db8::1")
	s.awaitServed(t, both, "http:80->20000")
	s.awaitCarried(t, dual, "20000/TCP 8080: 10.0.0.1", "20000/TCP 8080: 2001:db8::1")
	if shown := address(s.get(t, both)); strings.Count(shown, "Proxy") != 2 {
		t.Errorf("the channel shows %q", shown)
	}

	plain := s.mux(t, "four")
	only6 := s.channel(t, "families", "only-6", plain, families(six))
	s.backends(t, only6, "only-6", "http:8080", "2001:db8::2")
	s.awaitServed(t, only6, "http:80->20000")
	s.awaitCondition(t, only6, "BackendsReady", "False FamilyMismatch")
	s.awaitCarried(t, plain)
	s.update(t, plain, families(four, six))
	s.awaitCondition(t, only6, "BackendsReady", "True HasBackends")
	s.awaitCarried(t, plain, "20000/TCP 8080: 2001:db8::2")

	new6 := s.mux(t, "six", families(six))
	web := s.channel(t, "families", "web-6", new6, families(six))
	s.backends(t, web, "web-6", "http:8080", "2001:db8::3")
	s.awaitServed(t, web, "http:80->20000")
	s.awaitCarried(t, new6, "20000/TCP 8080: 2001:db8::3")
}

// handWritten uses a channel without a selector. The mux carries the slices that the owner writes. Without slices, the
// channel's conditions say so.
func (s cases) handWritten(t *testing.T) {
	mux := s.mux(t, "hand")
	web := s.channel(t, "hand", "web", mux, selectorless, port("http", 80, "TCP"), port("dns", 53, "UDP"))
	s.awaitServed(t, web, "http:80->80, dns:53->53")
	s.awaitCondition(t, web, "BackendsReady", "False NoBackends")
	s.awaitCarried(t, mux)

	s.backends(t, web, "by-hand-1", "http:8080 dns:5353/UDP other:1", "192.0.2.1", "192.0.2.2-")
	s.backends(t, web, "by-hand-2", "http:9090", "192.0.2.3")
	s.awaitCarried(t, mux, "53/UDP 5353: 192.0.2.1 192.0.2.2-", "80/TCP 8080: 192.0.2.1 192.0.2.2-",
		"80/TCP 9090: 192.0.2.3")
	s.awaitCondition(t, web, "BackendsReady", "True HasBackends")

	// Host names can't be carried, and a port without a name can't be assigned to a claim. Neither may block the other
	// endpoints.
	s.Apply(t, `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: by-name, namespace: hand, labels: {kubernetes.io/service-name: web}}
addressType: FQDN
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [backend.example.com]}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: by-nothing, namespace: hand, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [192.0.2.4]}]
`)
	s.backends(t, web, "by-hand-2", "http:9090", "192.0.2.3-")
	s.backends(t, web, "by-hand-1", "http:8080", "192.0.2.1-")
	s.awaitCarried(t, mux, "80/TCP 8080: 192.0.2.1-", "80/TCP 9090: 192.0.2.3-")
	s.awaitCondition(t, web, "BackendsReady", "False NoBackends")
}

// terminating checks that a terminating pod is carried with its conditions: it isn't ready, but may still serve, and
// kube-proxy uses it if there is no other pod.
func (s cases) terminating(t *testing.T) {
	mux := s.mux(t, "terminating")
	web := s.channel(t, "terminating", "web", mux, selectorless, port("http", 80, "TCP"))
	s.Apply(t, `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: pods, namespace: terminating, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [192.0.2.1], nodeName: node-1, zone: zone-a,
  conditions: {ready: false, serving: true, terminating: true}}]
`)
	s.awaitServed(t, web, "http:80->80")
	s.awaitCarried(t, mux, "80/TCP 8080: 192.0.2.1-")
	s.awaitCondition(t, web, "BackendsReady", "False NoBackends")
	is := s.slicesOn(t, mux)[0].Endpoints[0]
	if is.Conditions.Serving == nil || !*is.Conditions.Serving || is.Conditions.Terminating == nil ||
		!*is.Conditions.Terminating ||
		is.NodeName == nil || *is.NodeName != "node-1" || is.Zone == nil || *is.Zone != "zone-a" {
		t.Errorf("the endpoint is carried as %+v", is)
	}
}

// pods lets Kubernetes' own controller write the slices. Pods are carried as they come and go. A change of readiness
// costs one write of one slice, and no write of a Service.
func (s cases) pods(t *testing.T) {
	mux := s.mux(t, "pods")
	web := s.channel(t, "pods", "web", mux)
	s.backends(t, web, "others", "http:9090", "192.0.2.1")
	s.eventually(t, "pods have an account", func() bool {
		_, err := s.user.CoreV1().ServiceAccounts("pods").Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
	s.Apply(t, `
apiVersion: v1
kind: Node
metadata: {name: pods}
---
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: pods, labels: {app: web}}
spec: {nodeName: pods, automountServiceAccountToken: false, containers: [{name: web, image: none}]}
`)
	s.podStatus(t, "web-0", "10.9.0.1", "True")
	s.awaitServed(t, web, "http:80->20000")
	s.awaitCarried(t, mux, "20000/TCP 80: 10.9.0.1", "20000/TCP 9090: 192.0.2.1")
	s.awaitCondition(t, web, "BackendsReady", "True HasBackends")

	slice := func(r faults.Request) bool {
		return r.Resource == "endpointslices" && r.Namespace == muxNamespace && strings.HasPrefix(r.Name, "pods-")
	}
	services := func(r faults.Request) bool { return writesOf(mux)(r) || writesOf(web)(r) }
	before, told := s.writes(slice), s.writes(services)
	s.podStatus(t, "web-0", "10.9.0.1", "False")
	s.awaitCarried(t, mux, "20000/TCP 80: 10.9.0.1-", "20000/TCP 9090: 192.0.2.1")
	s.podStatus(t, "web-0", "10.9.0.1", "True")
	s.awaitCarried(t, mux, "20000/TCP 80: 10.9.0.1", "20000/TCP 9090: 192.0.2.1")
	if got := s.writes(slice) - before; got != 2 {
		t.Errorf("two changes of a pod's readiness cost %d writes of slices", got)
	}
	s.backends(t, web, "others", "http:9090", "192.0.2.2")
	s.awaitCarried(t, mux, "20000/TCP 80: 10.9.0.1", "20000/TCP 9090: 192.0.2.2")
	if got := s.writes(services) - told; got != 0 {
		t.Errorf("two changes of a pod's readiness cost %d writes of Services", got)
	}
}

func (s *scene) podStatus(t *testing.T, pod, ip, ready string) {
	t.Helper()
	patch := fmt.Sprintf(
		`{"status":{"phase":"Running","podIP":%q,"podIPs":[{"ip":%q}],"conditions":[{"type":"Ready","status":%q}]}}`, ip, ip,
		ready)
	if _, err := s.user.CoreV1().Pods("pods").Patch(t.Context(), pod,
		"application/strategic-merge-patch+json", []byte(patch),
		metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

// twelveHundred checks that 1,200 endpoints are two slices of the channel, and two of the mux.
func (s cases) twelveHundred(t *testing.T) {
	mux := s.mux(t, "many")
	web := s.channel(t, "many", "web", mux, selectorless)
	all := make([]string, 1200)
	for i := range all {
		all[i] = fmt.Sprintf("10.1.%d.%d", i/250, i%250+1)
	}
	s.backends(t, web, "web-1", "http:8080", all[:1000]...)
	s.backends(t, web, "web-2", "http:8080", all[1000:]...)
	s.awaitServed(t, web, "http:80->20000")
	s.awaitCarried(t, mux, "20000/TCP 8080: "+strings.Join(all[:1000], " "),
		"20000/TCP 8080: "+strings.Join(all[1000:], " "))
	s.backends(t, web, "web-2", "http:8080", all[1001:]...)
	s.awaitCarried(t, mux, "20000/TCP 8080: "+strings.Join(all[:1000], " "),
		"20000/TCP 8080: "+strings.Join(all[1001:], " "))
}

// mirrored writes an Endpoints object for a channel without a selector. Kubernetes mirrors it to EndpointSlices, and
// the mux must carry these.
func (s cases) mirrored(t *testing.T) {
	mux := s.mux(t, "mirrored")
	web := s.channel(t, "mirrored", "web", mux, selectorless)
	s.Apply(t, `
apiVersion: v1
kind: Endpoints
metadata: {name: web, namespace: mirrored}
subsets: [{addresses: [{ip: 192.0.2.1}], ports: [{name: http, port: 8080}]}]
`)
	s.awaitServed(t, web, "http:80->20000")
	s.awaitCarried(t, mux, "20000/TCP 8080: 192.0.2.1")
	s.Kubectl(t, "delete", "endpoints", "--namespace=mirrored", "web")
	s.awaitCarried(t, mux)
	s.awaitCondition(t, web, "BackendsReady", "False NoBackends")
}

// refusedByQuota sets a quota that allows no more EndpointSlices in the mux's namespace.
func (s cases) refusedByQuota(t *testing.T) {
	s.namespace(t, "quota-muxes")
	s.Apply(t, `
apiVersion: v1
kind: ResourceQuota
metadata: {name: none, namespace: quota-muxes}
spec: {hard: {count/endpointslices.discovery.k8s.io: "0"}}
`)
	s.eventually(t, "the quota counts", func() bool {
		quota, err := s.user.CoreV1().ResourceQuotas("quota-muxes").Get(t.Context(), "none", metav1.GetOptions{})
		return err == nil && len(quota.Status.Hard) == 1
	})
	mux := s.mux(t, "quota", func(svc *corev1.Service) { svc.Namespace = "quota-muxes" })
	web := s.channel(t, "quota", "web", mux, selectorless, port("http", 80, "TCP"))
	s.backends(t, web, "web", "http:8080", "192.0.2.1")
	s.awaitServed(t, web, "http:80->80")
	s.awaitCondition(t, web, "BackendsReady", "False BackendsRefused")
	for _, about := range []types.NamespacedName{mux, web} {
		s.eventually(t, about.String()+" is told of the quota", func() bool {
			told := strings.Join(s.events(t, about), "\n")
			if strings.Contains(told, "backends came") {
				t.Errorf("events of %s: %s", about, told)
			}
			return strings.Contains(told, "BackendsRefused") && strings.Contains(told, "exceeded quota: none")
		})
	}
	s.Kubectl(t, "delete", "resourcequota", "--namespace=quota-muxes", "none")
	s.awaitCarried(t, mux, "80/TCP 8080: 192.0.2.1")
	s.awaitCondition(t, web, "BackendsReady", "True HasBackends")
}
