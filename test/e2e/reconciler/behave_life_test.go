package reconciler

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// attach creates two channels in different ways, and checks what a user sees.
func (s cases) attach(t *testing.T) {
	mux := s.mux(t, "attach")
	web := s.channel(t, "attach", "web", mux)
	api := s.channel(t, "attach", "api", mux, port("https", 443, "TCP"), port("dns", 53, "UDP"), asks("dns:5353"))
	s.backends(t, web, "web-1", "http:8080", "10.0.0.1", "10.0.0.2-")

	s.awaitServed(t, web, "http:80->20000")
	s.awaitServed(t, api, "https:443->443, dns:53->5353")
	s.Kubectl(t, "wait", "--for=condition="+prefix+"/Programmed", "--namespace=attach", "service/web", "--timeout=1s")
	s.awaitPublic(t, mux, "20000/TCP", "443/TCP", "5353/UDP")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.1 10.0.0.2-")
	s.awaitCondition(t, web, "BackendsReady", "True HasBackends")
	s.awaitCondition(t, api, "BackendsReady", "False NoBackends")
	s.awaitClaims(t, mux, "20000/TCP attach/web http auto", "443/TCP attach/api https static",
		"5353/UDP attach/api dns static")
	s.awaitTold(t, mux, "Normal MuxPortsChanged ", "20000/TCP")
	s.awaitTold(t, mux, "Normal MuxEndpointsCreated ", "attach/web")

	s.backends(t, web, "web-1", "http:8080", "10.0.0.1-", "10.0.0.2-")
	s.awaitCondition(t, web, "BackendsReady", "False NoBackends")
	s.awaitTold(t, mux, "Normal MuxEndpointsChanged ", "no backends any more: attach/web")
	notes := s.get(t, mux).Annotations
	for key, want := range map[string]string{
		"channels": `["attach/api","attach/web"]`,
		"summary":  "2 channel(s) | 3 port(s)",
		"topology": "attach/api  dns:53->5353/UDP, https:443->443/TCP\nattach/web  http:80->20000/TCP",
	} {
		if got := notes[prefix+"/"+key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

// detach makes a channel an ordinary Service: both it and the mux must be cleaned.
func (s cases) detach(t *testing.T) {
	mux := s.mux(t, "detach")
	web := s.channel(t, "detach", "web", mux)
	api := s.channel(t, "detach", "api", mux, port("https", 443, "TCP"))
	s.backends(t, web, "web-1", "http:8080", "10.0.0.1")
	s.awaitServed(t, web, "http:80->20000")
	s.awaitServed(t, api, "https:443->443")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.1")

	s.update(t, web, func(svc *corev1.Service) {
		svc.Spec.Type, svc.Spec.LoadBalancerClass = corev1.ServiceTypeClusterIP, nil
		svc.Spec.AllocateLoadBalancerNodePorts = nil
	})
	s.awaitBare(t, web)
	s.awaitPublic(t, mux, "443/TCP")
	s.awaitCarried(t, mux)
	s.awaitClaims(t, mux, "443/TCP detach/api https static")
	s.awaitServed(t, api, "https:443->443")
}

// deletion deletes channels. Their ports must be removed, and the placeholder restored with the last one.
func (s cases) deletion(t *testing.T) {
	mux := s.mux(t, "deletion")
	web := s.channel(t, "deletion", "web", mux)
	api := s.channel(t, "deletion", "api", mux, port("https", 443, "TCP"))
	s.backends(t, web, "web-1", "http:8080", "10.0.0.1")
	s.awaitServed(t, web, "http:80->20000")
	s.awaitServed(t, api, "https:443->443")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.1")

	s.delete(t, web)
	s.awaitPublic(t, mux, "443/TCP")
	s.awaitCarried(t, mux)
	s.awaitClaims(t, mux, "443/TCP deletion/api https static")
	s.delete(t, api)
	s.awaitPublic(t, mux, "101/TCP")
	s.awaitClaims(t, mux)
}

// grace recreates a channel within its grace: it gets its number again, which no other channel got.
func (s cases) grace(t *testing.T) {
	mux := s.mux(t, "grace", annotated("release-grace", "1h"), annotated("port-range", "20000-20001"))
	web := s.channel(t, "grace", "web", mux)
	s.awaitServed(t, web, "http:80->20000")
	s.delete(t, web)
	s.awaitPublic(t, mux, "101/TCP")
	s.awaitClaims(t, mux, "20000/TCP grace/web http auto inGrace")

	wants := s.channel(t, "grace", "a-wants-it", mux, port("http", 80, "TCP"), asks("http:20000"))
	s.awaitRefused(t, wants, "MuxPortConflict")
	s.awaitTold(t, wants, "grace/web", "may come back for it")
	picks := s.channel(t, "grace", "a-picks", mux)
	s.awaitServed(t, picks, "http:80->20001")
	none := s.channel(t, "grace", "a-picks-too", mux)
	s.awaitRefused(t, none, "InvalidPortMapping")

	s.channel(t, "grace", "web", mux)
	s.awaitServed(t, web, "http:80->20000")
	s.delete(t, web)
	s.awaitPublic(t, mux, "20001/TCP")
	s.annotate(t, mux, "release-grace", "") // ends all present graces
	s.awaitServed(t, wants, "http:80->20000")
}

// rename renames a channel's port: it keeps its number, and its name on the mux.
func (s cases) rename(t *testing.T) {
	mux := s.mux(t, "rename")
	web := s.channel(t, "rename", "web", mux, port("http", 80, "TCP"), port("https", 443, "TCP"), asks("http:auto"))
	s.backends(t, web, "web-1", "http:8080 tls:8443", "10.0.0.1")
	s.awaitServed(t, web, "http:80->20000, https:443->443")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.1")
	picked, fixed := s.portName(t, mux, 20000), s.portName(t, mux, 443)

	s.update(t, web, func(svc *corev1.Service) {
		svc.Spec.Ports[0].Name, svc.Spec.Ports[1].Name = "plain", "tls"
		svc.Annotations[prefix+"/external-ports"] = "plain:auto"
	})
	s.awaitServed(t, web, "plain:80->20000, tls:443->443")
	s.awaitClaims(t, mux, "20000/TCP rename/web plain auto", "443/TCP rename/web tls static")
	// The slice has the new name of one port only. The other port keeps its backends until the slice has its new name,
	// too.
	both := []string{"20000/TCP 8080: 10.0.0.1", "443/TCP 8443: 10.0.0.1"}
	s.awaitCarried(t, mux, both...)
	s.backends(t, web, "web-1", "plain:8080 tls:8443", "10.0.0.1")
	s.awaitCarried(t, mux, both...)
	s.backends(t, web, "web-1", "tls:8443", "10.0.0.1")
	s.awaitCarried(t, mux, "443/TCP 8443: 10.0.0.1")
	if got := [...]string{s.portName(t, mux, 20000), s.portName(t, mux, 443)}; got != [...]string{picked, fixed} {
		t.Errorf("the ports are named %v on the mux, want %s and %s", got, picked, fixed)
	}
}

// moves changes the numbers that a channel asks for, one after the other.
func (s cases) moves(t *testing.T) {
	mux := s.mux(t, "moves")
	web := s.channel(t, "moves", "web", mux, port("http", 80, "TCP"), asks("http:8080"))
	s.backends(t, web, "web-1", "http:8888", "10.0.0.1")
	s.awaitServed(t, web, "http:80->8080")
	for _, step := range []struct{ asks, ports, public string }{
		{"http:9090", "http:80->9090", "9090/TCP"},
		{"http:auto", "http:80->20000", "20000/TCP"},
		{"", "http:80->80", "80/TCP"},
		{"http:8080", "http:80->8080", "8080/TCP"},
	} {
		s.annotate(t, web, "external-ports", step.asks)
		s.awaitServed(t, web, step.ports)
		s.awaitPublic(t, mux, step.public)
		s.awaitCarried(t, mux, step.public+" 8888: 10.0.0.1")
	}
	s.awaitClaims(t, mux, "8080/TCP moves/web http static")
	// A number that isn't available changes only the conditions.
	other := s.channel(t, "moves", "other", mux, port("http", 9090, "TCP"))
	s.awaitServed(t, other, "http:9090->9090")
	s.annotate(t, web, "external-ports", "http:9090")
	s.awaitShown(t, web, "http:80->8080", "False MuxPortConflict")
	s.awaitTold(t, web, "Warning MuxPortConflict ", "moves/other")
	s.annotate(t, web, "external-ports", "http:8080")
	s.awaitServed(t, web, "http:80->8080")
}

// otherMux recreates a channel under another class: a class is immutable.
func (s cases) otherMux(t *testing.T) {
	from, to := s.mux(t, "move-from"), s.mux(t, "move-to")
	web := s.channel(t, "move", "web", from)
	s.backends(t, web, "web-1", "http:8080", "10.0.0.1")
	s.awaitServed(t, web, "http:80->20000")
	s.awaitCarried(t, from, "20000/TCP 8080: 10.0.0.1")
	s.delete(t, web)
	s.channel(t, "move", "web", to)
	s.backends(t, web, "web-1", "http:8080", "10.0.0.1")
	s.awaitServed(t, web, "http:80->20000")
	s.awaitCarried(t, to, "20000/TCP 8080: 10.0.0.1")
	s.awaitPublic(t, from, "101/TCP")
	s.awaitCarried(t, from)
	s.awaitClaims(t, from)
}

// muxReturns deletes and recreates a mux. Meanwhile its channel shows no address and says why. Afterwards everything is
// as before.
func (s cases) muxReturns(t *testing.T) {
	mux := s.mux(t, "returns")
	gone := s.channel(t, "returns", "gone", mux)
	s.awaitServed(t, gone, "http:80->20000")
	web := s.channel(t, "returns", "web", mux)
	api := s.channel(t, "returns", "api", mux, port("https", 443, "TCP"))
	s.backends(t, web, "web-1", "http:8080", "10.0.0.1")
	s.awaitServed(t, web, "http:80->20001")
	s.awaitServed(t, api, "https:443->443")
	s.delete(t, gone)
	s.awaitPublic(t, mux, "20001/TCP", "443/TCP")
	claims := []string{"20001/TCP returns/web http auto", "443/TCP returns/api https static"}
	s.awaitClaims(t, mux, claims...)

	s.delete(t, mux)
	s.awaitRefused(t, web, "MuxNotFound")
	s.awaitRefused(t, api, "MuxNotFound")
	s.awaitClaims(t, mux, claims...) // the ledger is kept
	late := s.channel(t, "returns", "a-late-one", mux)
	s.awaitRefused(t, late, "MuxNotFound")

	s.mux(t, "returns")
	s.awaitServed(t, web, "http:80->20001")
	s.awaitServed(t, api, "https:443->443")
	s.awaitServed(t, late, "http:80->20000")
	s.awaitCarried(t, mux, "20001/TCP 8080: 10.0.0.1")
	s.awaitEvent(t, web, "Accepted")
	if told := having(s.events(t, mux), "MuxDriftCorrected"); len(told) > 0 {
		t.Errorf("a recreated mux was reported as drift: %v", told)
	}
}

// noMuxAnyMore makes a mux an ordinary Service: it keeps its ports, and its channels become orphans.
func (s cases) noMuxAnyMore(t *testing.T) {
	mux := s.mux(t, "no-more")
	web := s.channel(t, "no-more", "web", mux)
	s.backends(t, web, "web-1", "http:8080", "10.0.0.1")
	s.awaitServed(t, web, "http:80->20000")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.1")

	s.annotate(t, mux, "multiplexer", "")
	s.awaitRefused(t, web, "MuxNotFound")
	if got := s.public(t, mux); !slices.Equal(got, []string{"20000/TCP"}) {
		t.Errorf("the former mux has %v now", got)
	}
	s.awaitClaims(t, mux, "20000/TCP no-more/web http auto")
	s.annotate(t, mux, "multiplexer", "true")
	s.awaitServed(t, web, "http:80->20000")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.1")
}

// selectorGained adds a selector to a mux. The mux freezes with a message: no channel loses anything, and none gets
// anything.
func (s cases) selectorGained(t *testing.T) {
	mux := s.mux(t, "selector")
	web := s.channel(t, "selector", "web", mux)
	s.backends(t, web, "web-1", "http:8080", "10.0.0.1")
	s.awaitServed(t, web, "http:80->20000")
	leaving := s.channel(t, "selector", "leaving", mux)
	s.awaitServed(t, leaving, "http:80->20001")

	s.update(t, mux, func(svc *corev1.Service) { svc.Spec.Selector = map[string]string{"app": "nginx"} })
	s.awaitTold(t, mux, "Warning NotSupported ", "selector")
	late := s.channel(t, "selector", "late", mux)
	s.awaitWaiting(t, late, "selector")
	s.delete(t, leaving)
	s.backends(t, web, "web-1", "http:8080", "10.0.0.1", "10.0.0.2")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.1 10.0.0.2") // backends are still updated
	s.awaitServed(t, web, "http:80->20000")
	s.awaitPublic(t, mux, "20000/TCP", "20001/TCP")

	s.update(t, mux, func(svc *corev1.Service) { svc.Spec.Selector = nil })
	s.awaitServed(t, late, "http:80->20002") // 20001 is released in the same pass, and free after it
	s.awaitPublic(t, mux, "20000/TCP", "20002/TCP")
	s.awaitServed(t, web, "http:80->20000")
}

// awaitWaiting waits until a channel's condition says that its mux is frozen, and what to repair.
func (s *scene) awaitWaiting(t *testing.T, channel types.NamespacedName, words string) {
	t.Helper()
	s.awaitRefused(t, channel, "Waiting")
	s.awaitTold(t, channel, "Warning Waiting ", words)
}

// unnamedPort adds a port without a name. It can't be matched, so the mux freezes until the port has a name.
func (s cases) unnamedPort(t *testing.T) {
	mux := s.mux(t, "unnamed", func(svc *corev1.Service) { svc.Spec.Ports = []corev1.ServicePort{{Port: 101}} })
	web := s.channel(t, "unnamed", "web", mux)
	s.awaitWaiting(t, web, "name")
	s.awaitTold(t, mux, "Warning InvalidPort ")
	s.awaitPublic(t, mux, "101/TCP")
	s.update(t, mux, func(svc *corev1.Service) { svc.Spec.Ports[0].Name = "placeholder" })
	s.awaitServed(t, web, "http:80->20000")
}

// disabledChannel disables a channel: its ports are removed, but its numbers stay reserved.
func (s cases) disabledChannel(t *testing.T) {
	mux := s.mux(t, "withdrawn", annotated("port-range", "20000-20000"))
	web := s.channel(t, "withdrawn", "web", mux)
	s.backends(t, web, "web-1", "http:8080", "10.0.0.1")
	s.awaitServed(t, web, "http:80->20000")
	s.annotate(t, web, "disabled", "true")
	s.awaitCondition(t, web, "Accepted", "False Disabled")
	s.awaitCondition(t, web, "Programmed", "False Disabled")
	s.awaitPublic(t, mux, "101/TCP")
	s.awaitCarried(t, mux)
	s.awaitClaims(t, mux, "20000/TCP withdrawn/web http auto")
	if shown := address(s.get(t, web)); shown != "" {
		t.Errorf("the channel still shows %s", shown)
	}
	other := s.channel(t, "withdrawn", "a-second", mux)
	s.awaitRefused(t, other, "InvalidPortMapping")
	s.annotate(t, web, "disabled", "")
	s.awaitServed(t, web, "http:80->20000")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.1")
}

// disabledMux disables a mux: it behaves as if frozen.
func (s cases) disabledMux(t *testing.T) {
	mux := s.mux(t, "paused")
	web := s.channel(t, "paused", "web", mux)
	s.backends(t, web, "web-1", "http:8080", "10.0.0.1")
	s.awaitServed(t, web, "http:80->20000")
	s.annotate(t, mux, "disabled", "true")
	s.awaitTold(t, mux, "Normal MuxPaused ")
	late := s.channel(t, "paused", "late", mux)
	s.awaitWaiting(t, late, "paused")
	s.backends(t, web, "web-1", "http:8080", "10.0.0.2")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.2")
	s.awaitServed(t, web, "http:80->20000")
	s.annotate(t, mux, "disabled", "")
	s.awaitServed(t, late, "http:80->20001")
}

// shutOut disallows a namespace: its channels lose their ports, but the numbers are in grace, in case it was a mistake.
func (s cases) shutOut(t *testing.T) {
	mux := s.mux(t, "shut-out", annotated("allowed-namespaces", "shut-a,shut-b"), annotated("release-grace", "1h"))
	a, b := s.channel(t, "shut-a", "web", mux), s.channel(t, "shut-b", "web", mux)
	s.awaitCondition(t, a, "Programmed", "True Programmed")
	s.awaitCondition(t, b, "Programmed", "True Programmed")
	ports := s.get(t, b).Annotations[prefix+"/ports"]
	held, _, _ := strings.Cut(s.claims(t, mux)[slices.IndexFunc(s.claims(t, mux), func(claim string) bool {
		return strings.Contains(claim, "shut-b/web")
	})], " ")
	never := s.channel(t, "shut-c", "web", mux)
	s.awaitRefused(t, never, "NamespaceNotAllowed")

	s.annotate(t, mux, "allowed-namespaces", "shut-a")
	s.awaitRefused(t, b, "NamespaceNotAllowed")
	s.awaitTold(t, b, "shut-b", "svc-mux/shut-out")
	s.awaitTold(t, mux, "MuxPortsChanged ", "removed "+held)
	s.awaitCondition(t, a, "Programmed", "True Programmed")
	s.annotate(t, mux, "allowed-namespaces", "*")
	s.awaitServed(t, b, ports)
	s.awaitCondition(t, never, "Programmed", "True Programmed")
}

// syncedAgain deletes a mux with its channels and creates them again, as a sync does: first the mux, and then the
// channels, youngest first.
func (s cases) syncedAgain(t *testing.T) {
	mux := s.mux(t, "synced")
	first := s.channel(t, "synced", "first", mux)
	s.awaitServed(t, first, "http:80->20000")
	second := s.channel(t, "synced", "second", mux)
	s.awaitServed(t, second, "http:80->20001")
	s.delete(t, mux)
	s.delete(t, first)
	s.delete(t, second)

	s.mux(t, "synced")
	s.awaitClaims(t, mux, "20000/TCP synced/first http auto inGrace", "20001/TCP synced/second http auto inGrace")
	thief := s.channel(t, "synced", "thief", mux, port("https", 20000, "TCP"))
	s.awaitRefused(t, thief, "MuxPortConflict")
	s.awaitServed(t, s.channel(t, "synced", "second", mux), "http:80->20001")
	s.awaitServed(t, s.channel(t, "synced", "first", mux), "http:80->20000")
}
