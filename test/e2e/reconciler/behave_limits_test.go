package reconciler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/cluster/faults"
)

// conflict lets two channels ask for one number. The second one is refused, and gets it as soon as the first one is
// deleted, without an edit.
func (s cases) conflict(t *testing.T) {
	mux := s.mux(t, "conflict")
	first := s.channel(t, "conflict-a", "web", mux, port("https", 443, "TCP"))
	s.awaitServed(t, first, "https:443->443")
	second := s.channel(t, "conflict-b", "web", mux, port("https", 443, "TCP"), port("http", 80, "TCP"))
	s.awaitRefused(t, second, "MuxPortConflict")
	s.awaitTold(t, second, "443/TCP", "conflict-a/web", "ask for auto")
	s.awaitPublic(t, mux, "443/TCP") // all or nothing: 80 isn't published, either
	udp := s.channel(t, "conflict-c", "web", mux, port("https", 443, "UDP"))
	s.awaitServed(t, udp, "https:443->443") // another protocol is another port

	s.delete(t, first)
	s.awaitServed(t, second, "https:443->443, http:80->80")
	s.awaitTold(t, second, "Normal Accepted ")
}

// exhausted uses up a range: further channels are refused until a channel is deleted.
func (s cases) exhausted(t *testing.T) {
	mux := s.mux(t, "exhausted", annotated("port-range", "20000-20001"))
	first := s.channel(t, "exhausted", "first", mux)
	s.awaitServed(t, first, "http:80->20000")
	second := s.channel(t, "exhausted", "second", mux)
	s.awaitServed(t, second, "http:80->20001")
	third := s.channel(t, "exhausted", "a-third", mux)
	s.awaitRefused(t, third, "InvalidPortMapping")
	s.awaitTold(t, third, "20000-20001", "widen its port-range")
	s.delete(t, first)
	s.awaitServed(t, third, "http:80->20000")
	s.awaitServed(t, second, "http:80->20001")
}

// heldByAuto asks for a number that another channel got as auto: the other channel keeps it.
func (s cases) heldByAuto(t *testing.T) {
	mux := s.mux(t, "held-by-auto")
	web := s.channel(t, "held-by-auto", "web", mux)
	s.awaitServed(t, web, "http:80->20000")
	asking := s.channel(t, "held-by-auto", "a-asking", mux, port("http", 80, "TCP"), asks("http:20000"))
	s.awaitRefused(t, asking, "MuxPortConflict")
	s.awaitServed(t, web, "http:80->20000")
	s.annotate(t, asking, "external-ports", "http:20002")
	s.awaitServed(t, asking, "http:80->20002")
}

// sortsFirst adds a channel at the limit whose name sorts before another's: that gives no advantage.
func (s cases) sortsFirst(t *testing.T) {
	mux := s.mux(t, "sorts-first", annotated("max-ports", "1"))
	zoe := s.channel(t, "sorts-first", "zoe", mux)
	s.awaitServed(t, zoe, "http:80->20000")
	adam := s.channel(t, "sorts-first", "adam", mux)
	s.awaitRefused(t, adam, "MuxPortLimitExceeded")
	s.awaitServed(t, zoe, "http:80->20000")
	s.delete(t, zoe)
	s.awaitServed(t, adam, "http:80->20001") // 20000 is released in the same pass, and free after it
}

// lowered sets a limit below the ports in use: none is removed, and none is added.
func (s cases) lowered(t *testing.T) {
	mux := s.mux(t, "lowered", annotated("max-ports", "3"), annotated("max-ports-per-namespace", "3"))
	a := s.channel(t, "lowered", "a", mux, port("http", 80, "TCP"))
	b := s.channel(t, "lowered", "b", mux, port("http", 81, "TCP"))
	s.awaitServed(t, a, "http:80->80")
	s.awaitServed(t, b, "http:81->81")
	s.annotate(t, mux, "max-ports", "1")
	c := s.channel(t, "lowered", "c", mux, port("http", 82, "TCP"))
	s.awaitRefused(t, c, "MuxPortLimitExceeded")
	s.awaitServed(t, a, "http:80->80")
	s.awaitServed(t, b, "http:81->81")
	s.annotate(t, mux, "max-ports", "3", "max-ports-per-namespace", "2")
	s.awaitRefused(t, c, "QuotaExceeded")
	s.annotate(t, mux, "max-ports-per-namespace", "")
	s.awaitServed(t, c, "http:82->82")
}

// rangeMoved moves the range: a channel keeps its number, and its condition says that it is out of range. The channel
// moves when it is recreated.
func (s cases) rangeMoved(t *testing.T) {
	mux := s.mux(t, "range-moved")
	web := s.channel(t, "range-moved", "web", mux)
	s.awaitServed(t, web, "http:80->20000")
	s.annotate(t, mux, "port-range", "30000-30001")
	s.awaitShown(t, web, "http:80->20000", "True OutOfRange")
	s.awaitTold(t, web, "Warning OutOfRange ", "20000/TCP", "30000-30001")
	late := s.channel(t, "range-moved", "late", mux)
	s.awaitServed(t, late, "http:80->30000")
	s.delete(t, web)
	s.awaitPublic(t, mux, "30000/TCP")
	s.channel(t, "range-moved", "web", mux)
	s.awaitServed(t, web, "http:80->30001")
}

// burst creates a hundred channels at once. That must cost few writes of the mux: after each, a provider would program
// its load balancer again. On GKE there is no room for another channel.
func (s cases) burst(t *testing.T) {
	mux := s.mux(t, "burst", annotated("cloud.google.com/l4-rbs", "enabled"))
	s.awaitTold(t, mux, "Warning GkePortLimitApplied ", "100")
	held := s.proxy.HoldWatches(faults.Match{Resource: "services"}) // so that all arrive at once, also on a busy machine
	defer held.Release()
	channels := make([]types.NamespacedName, 100)
	for i := range channels {
		channels[i] = s.channel(t, "burst", fmt.Sprintf("web-%03d", i), mux)
	}
	held.Release()
	var want []string
	for i := range channels {
		want = append(want, fmt.Sprintf("%d/TCP", 20000+i))
	}
	s.awaitPublic(t, mux, want...)
	for _, channel := range channels {
		s.awaitCondition(t, channel, "Programmed", "True Programmed")
	}
	if got := s.writes(writesOf(mux)); got > 5 {
		t.Errorf("the mux was written %d times", got)
	}
	if got := s.Provider.Ensures(mux.String()); got > 6 {
		t.Errorf("the provider programmed its load balancer %d times", got)
	}
	if got := s.writes(
		func(r faults.Request) bool { return r.Namespace == "burst" && r.Resource == "services" }); got > 150 {
		t.Errorf("100 channels took %d writes", got)
	}

	late := s.channel(t, "burst", "a-late-one", mux, port("http", 80, "TCP"))
	s.awaitRefused(t, late, "MuxPortLimitExceeded")
	s.awaitTold(t, late, "100 ports (GKE)")
	s.awaitPublic(t, mux, want...)
	s.delete(t, channels[50])
	s.awaitServed(t, late, "http:80->80")
}

// explicitRange limits the numbers that channels may ask for. It is separate from the range of auto.
func (s cases) explicitRange(t *testing.T) {
	mux := s.mux(t, "explicit", annotated("explicit-range", "443,8000-8999"))
	web := s.channel(t, "explicit", "web", mux, port("https", 443, "TCP"), port("http", 80, "TCP"), asks("http:8080"))
	s.awaitServed(t, web, "https:443->443, http:80->8080")
	ssh := s.channel(t, "explicit", "ssh", mux, port("ssh", 22, "TCP"))
	s.awaitRefused(t, ssh, "OutOfRange")
	s.awaitTold(t, ssh, "22/TCP", "443,8000-8999")
	s.annotate(t, ssh, "external-ports", "ssh:auto")
	s.awaitServed(t, ssh, "ssh:22->20000")
	s.annotate(t, mux, "explicit-range", "8000-8999")
	s.awaitShown(t, web, "https:443->443, http:80->8080", "True OutOfRange")
}

// mistaken makes mistakes in channels. Each channel is told its mistake, affects no others, and works once it is
// corrected.
func (s cases) mistaken(t *testing.T) {
	mux := s.mux(t, "mistaken")
	for _, mistake := range []struct {
		name, reason string
		make, mend   edit
	}{
		{"unnamed", "InvalidPort", port("", 81, "TCP"), func(svc *corev1.Service) { svc.Spec.Ports[0].Name = "http" }},
		{"unknown", "InvalidPortMapping", func(svc *corev1.Service) {
			port("http", 82, "TCP")(svc)
			asks("grcp:auto")(svc)
		}, asks("")},
		{"closed", "SourceRangesNotSupported", func(svc *corev1.Service) {
			port("http", 83, "TCP")(svc)
			svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
		}, func(svc *corev1.Service) { svc.Spec.LoadBalancerSourceRanges = nil }},
		{"no-host", "InvalidHostname", func(svc *corev1.Service) {
			port("http", 84, "TCP")(svc)
			annotated("external-dns-hostname", "not a name")(svc)
		}, annotated("external-dns-hostname", "a.example.com")},
	} {
		channel := s.channel(t, "mistaken", mistake.name, mux, mistake.make)
		s.awaitRefused(t, channel, mistake.reason)
		s.update(t, channel, mistake.mend)
		s.awaitCondition(t, channel, "Programmed", "True Programmed")
	}
	class := prefix + "/Not_A.name"
	lost := s.channel(t, "mistaken", "lost", mux, func(svc *corev1.Service) { svc.Spec.LoadBalancerClass = &class })
	s.awaitRefused(t, lost, "InvalidLoadBalancerClass")
	s.awaitPublic(t, mux, "81/TCP", "82/TCP", "83/TCP", "84/TCP")
}

// cannotMix attaches a UDP channel to a load balancer with TCP ports: it is refused until they are gone.
func (s cases) cannotMix(t *testing.T) {
	mux := s.mux(t, "cannot-mix", annotated("cloud.google.com/l4-rbs", "enabled"))
	web := s.channel(t, "cannot-mix", "web", mux)
	s.awaitServed(t, web, "http:80->20000")
	dns := s.channel(t, "cannot-mix", "dns", mux, port("dns", 53, "UDP"))
	s.awaitRefused(t, dns, "ProtocolNotAllowed")
	s.awaitTold(t, dns, "TCP, not UDP")
	both := s.channel(t, "cannot-mix", "both", mux, port("tcp", 54, "TCP"), port("udp", 54, "UDP"))
	s.awaitRefused(t, both, "ProtocolNotAllowed")
	s.delete(t, web)
	s.awaitServed(t, dns, "dns:53->53")
	s.awaitPublic(t, mux, "53/UDP")
}

// sctp uses SCTP on a mux without a provider that limits protocols.
func (s cases) sctp(t *testing.T) {
	mux := s.mux(t, "sctp")
	web := s.channel(t, "sctp", "web", mux, port("diameter", 3868, "SCTP"), port("plain", 3868, "TCP"),
		asks("diameter:auto,plain:auto"))
	s.backends(t, web, "web-1", "diameter:3868/SCTP plain:3868/TCP", "10.0.0.1")
	s.awaitServed(t, web, "diameter:3868->20000, plain:3868->20000")
	s.awaitPublic(t, mux, "20000/SCTP", "20000/TCP")
	s.awaitCarried(t, mux, "20000/SCTP 3868: 10.0.0.1", "20000/TCP 3868: 10.0.0.1")
	s.annotate(t, mux, "allowed-protocols", "TCP")
	late := s.channel(t, "sctp", "late", mux, port("diameter", 3869, "SCTP"))
	s.awaitRefused(t, late, "ProtocolNotAllowed")
	s.awaitServed(t, web, "diameter:3868->20000, plain:3868->20000")
}

// nodePorts uses up the node ports of a mux that takes some: only the channels that don't fit are refused.
func (s cases) nodePorts(t *testing.T) {
	yes := true
	mux := s.mux(t, "node-ports", func(svc *corev1.Service) { svc.Spec.AllocateLoadBalancerNodePorts = &yes })
	web := s.channel(t, "node-ports", "web", mux, port("http", 80, "TCP"))
	s.awaitServed(t, web, "http:80->80")
	had := s.get(t, mux).Spec.Ports[0].NodePort
	filler := s.fillNodePorts(t, 3)

	big := s.channel(t, "node-ports", "a-big-one", mux, port("a", 81, "TCP"), port("b", 82, "TCP"), port("c", 83, "TCP"),
		port("d", 84, "TCP"))
	s.awaitRefused(t, big, "MuxPatchRefused")
	s.awaitTold(t, big, "port") // the API server's own words
	small := s.channel(t, "node-ports", "small", mux, port("http", 85, "TCP"))
	s.awaitServed(t, small, "http:85->85")
	s.awaitServed(t, web, "http:80->80")
	for _, port := range s.get(t, mux).Spec.Ports {
		if port.Port == 80 && port.NodePort != had {
			t.Errorf("the node port of 80 changed from %d to %d", had, port.NodePort)
		}
	}
	if told := having(s.events(t, mux), "MuxPatchRefused"); len(told) > 0 {
		t.Errorf("the mux was told %v, although only a channel was refused", told)
	}
	s.delete(t, filler)
	s.awaitServed(t, big, "a:81->81, b:82->82, c:83->83, d:84->84")
}

// nodePorts is the number of node ports that the scene's cluster has.
const nodePorts = 64

// fillNodePorts uses up all node ports except the given number.
func (s *scene) fillNodePorts(t *testing.T, leave int) types.NamespacedName {
	t.Helper()
	list, err := s.user.CoreV1().Services("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	used := map[int32]bool{}
	for i := range list.Items {
		for _, port := range list.Items[i].Spec.Ports {
			used[port.NodePort] = true
		}
	}
	s.namespace(t, "filler")
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "filler", Name: "filler"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort},
	}
	for number := int32(30000); number < 30000+nodePorts; number++ {
		if !used[number] {
			svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{
				Name: fmt.Sprintf("p%d", number), Port: number, NodePort: number,
			})
		}
	}
	svc.Spec.Ports = svc.Spec.Ports[:len(svc.Spec.Ports)-leave]
	return s.create(t, svc, nil)
}

// sameShortName uses two channels whose ports have one name in the original. Its names have 7 digits, so an attacker
// can find such a pair. Endpoints must follow claims, not names.
func (s cases) sameShortName(t *testing.T) {
	victim, attacker, name := shortNameTwins()
	mux := types.NamespacedName{Namespace: muxNamespace, Name: "twins"}
	s.ledgerOfOriginal(t, mux, ledgerClaim{
		Namespace: "twins", Service: victim, PortName: "http", Protocol: "TCP", ChannelPort: 80, MuxPort: 20000, Port: 20000,
		Source: "auto",
	})
	web := s.channel(t, "twins", victim, mux)
	s.mux(t, "twins", func(svc *corev1.Service) { svc.Spec.Ports = []corev1.ServicePort{{Name: name, Port: 20000}} })
	s.backends(t, web, victim, "http:8080", "10.0.0.1")
	s.awaitServed(t, web, "http:80->20000")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.1")
	if got := s.portName(t, mux, 20000); got != name {
		t.Errorf("the original's port was renamed to %s, want %s", got, name)
	}

	twin := s.channel(t, "twins", attacker, mux)
	s.backends(t, twin, attacker, "http:8080", "10.6.6.6")
	s.awaitServed(t, twin, "http:80->20001")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.1", "20001/TCP 8080: 10.6.6.6")
	// The same must hold if the mux is the only source, without a ledger.
	s.deleteLedger(t, mux)
	s.awaitClaims(t, mux, "20000/TCP twins/"+victim+" http auto", "20001/TCP twins/"+attacker+" http auto")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.1", "20001/TCP 8080: 10.6.6.6")
}

// shortNameTwins returns two Services whose port http has the same first 7 digits, and those digits.
func shortNameTwins() (a, b, name string) {
	seen := map[string]string{}
	for i := 0; ; i++ {
		service := fmt.Sprintf("web-%d", i)
		sum := sha256.Sum256([]byte("twins/" + service + "/http"))
		short := hex.EncodeToString(sum[:])[:7]
		if twin, found := seen[short]; found {
			return twin, service, short
		}
		seen[short] = service
	}
}

// ledgerOfOriginal writes a ledger as the original does.
func (s *scene) ledgerOfOriginal(t *testing.T, mux types.NamespacedName, claims ...ledgerClaim) {
	t.Helper()
	text, err := json.MarshalIndent(map[string]any{
		"schemaVersion": 1, "mux": map[string]string{"namespace": mux.Namespace, "name": mux.Name},
		"portClaims": claims, "allocations": claims,
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	key := ledgerOf(mux)
	_, err = s.user.CoreV1().ConfigMaps(key.Namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name,
			Labels:      map[string]string{"app.kubernetes.io/name": "svc-lb-mux", "app.kubernetes.io/component": "mux-state"},
			Annotations: map[string]string{prefix + "/mux": mux.String()},
		},
		Data: map[string]string{"allocations.json": string(text)},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// forged writes a `ports` annotation on a channel. It must give the channel no port, not even when the ledger is lost.
func (s cases) forged(t *testing.T) {
	mux := s.mux(t, "forged", annotated("port-range", "20000-20003"))
	web := s.channel(t, "forged", "web", mux)
	s.backends(t, web, "web-1", "http:8080", "10.0.0.1")
	s.awaitServed(t, web, "http:80->20000")
	thief := s.channel(t, "forged", "a-thief", mux, annotated("ports", "http:80->20000"), port("http", 80, "TCP"),
		asks("http:20000"))
	s.backends(t, thief, "thief-1", "http:8080", "10.6.6.6")
	s.awaitRefused(t, thief, "MuxPortConflict") // and its forged annotation is removed
	s.deleteLedger(t, mux)
	s.annotate(t, thief, "ports", "http:80->20000")
	s.awaitClaims(t, mux, "20000/TCP forged/web http auto")
	s.awaitNothing(t, thief, "False MuxPortConflict")
	s.awaitServed(t, web, "http:80->20000")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.1")

	outside := s.channel(t, "forged", "outside", mux, annotated("ports", "http:80->25000"))
	s.awaitServed(t, outside, "http:80->20001")
}

// missingMux creates a hundred channels of a missing mux: they must cost a healthy mux nothing.
func (s cases) missingMux(t *testing.T) {
	nowhere := types.NamespacedName{Namespace: muxNamespace, Name: "missing"}
	var lost []types.NamespacedName
	for i := range 100 {
		lost = append(lost, s.channel(t, "missing", fmt.Sprintf("lost-%02d", i), nowhere))
	}
	mux := s.mux(t, "healthy")
	web := s.channel(t, "missing", "web", mux)
	s.backends(t, web, "web-1", "http:8080", "10.0.0.1")
	s.awaitServed(t, web, "http:80->20000")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.1")
	for _, channel := range lost {
		s.awaitNothing(t, channel, "False MuxNotFound")
	}
	before := s.writes(func(r faults.Request) bool {
		return r.Namespace == "missing" && strings.HasPrefix(r.Name, "lost-")
	})
	s.backends(t, web, "web-1", "http:8080", "10.0.0.2")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.2")
	s.annotate(t, web, "external-ports", "http:8080")
	s.awaitServed(t, web, "http:80->8080")
	after := s.writes(func(r faults.Request) bool {
		return r.Namespace == "missing" && strings.HasPrefix(r.Name, "lost-")
	})
	if before != after || before > 2*len(lost) {
		t.Errorf("the channels of the missing mux took %d writes, then %d more", before, after-before)
	}
	s.awaitTold(t, lost[7], "Warning MuxNotFound ", "svc-mux/missing")
}

// paired checks that a port under two protocols gets one public number, if such a number is free.
func (s cases) paired(t *testing.T) {
	mux := s.mux(t, "paired")
	udp := s.channel(t, "paired", "udp", mux, port("dns", 20000, "UDP"))
	s.awaitServed(t, udp, "dns:20000->20000")
	p2p := s.channel(t, "paired", "p2p", mux, port("tcp", 30303, "TCP"), port("udp", 30303, "UDP"),
		asks("tcp:auto,udp:auto"))
	s.awaitServed(t, p2p, "tcp:30303->20001, udp:30303->20001")
	s.awaitPublic(t, mux, "20000/UDP", "20001/TCP", "20001/UDP")
}

// foreign adds ports, labels and conditions of others to a mux and a channel: they stay, and the ports' numbers are
// taken.
func (s cases) foreign(t *testing.T) {
	mux := s.mux(t, "foreign", annotated("example.com/note", "theirs"), func(svc *corev1.Service) {
		svc.Labels = map[string]string{"team": "platform"}
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "admin", Port: 20000, Protocol: "TCP"})
	})
	web := s.channel(t, "foreign", "web", mux, port("http", 80, "TCP"), asks("http:auto"),
		annotated("example.com/note", "theirs"),
		func(svc *corev1.Service) {
			svc.Labels, svc.Finalizers = map[string]string{"team": "a"}, []string{"example.com/theirs"}
		})
	s.condition(t, web, metav1.Condition{
		Type: "example.com/Fine", Status: "True", Reason: "AsEver", LastTransitionTime: metav1.Now(), Message: "theirs",
	})
	s.condition(t, mux, metav1.Condition{
		Type: "example.com/Fine", Status: "True", Reason: "AsEver", LastTransitionTime: metav1.Now(), Message: "theirs",
	})
	s.awaitServed(t, web, "http:80->20001")
	s.awaitPublic(t, mux, "20000/TCP", "20001/TCP")
	asking := s.channel(t, "foreign", "asking", mux, port("http", 20000, "TCP"))
	s.awaitRefused(t, asking, "MuxPortConflict")
	s.awaitTold(t, asking, "the mux's own", "admin")
	for _, key := range []types.NamespacedName{mux, web} {
		svc := s.get(t, key)
		fine := slices.ContainsFunc(svc.Status.Conditions, func(c metav1.Condition) bool {
			return c.Type == "example.com/Fine"
		})
		if !fine || svc.Annotations["example.com/note"] != "theirs" || svc.Labels["team"] == "" {
			t.Errorf("%s lost fields of others: %v, %v, %v", key, svc.Labels, svc.Annotations, svc.Status.Conditions)
		}
	}
	s.annotate(t, web, "disabled", "true")
	s.awaitCondition(t, web, "Programmed", "False Disabled")
	svc := s.get(t, web)
	fine := slices.ContainsFunc(svc.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == "example.com/Fine"
	})
	if !fine || !slices.Equal(svc.Finalizers, []string{"example.com/theirs"}) {
		t.Errorf("%v, %v", svc.Status.Conditions, svc.Finalizers)
	}
	s.update(t, web, func(svc *corev1.Service) { svc.Finalizers = nil })
}

// condition sets a condition on a Service as another controller.
func (s *scene) condition(t *testing.T, service types.NamespacedName, c metav1.Condition) {
	t.Helper()
	cluster.Eventually(t, "another controller sets a condition", func(ctx context.Context) error {
		svc := s.get(t, service)
		svc.Status.Conditions = append(svc.Status.Conditions, c)
		_, err := s.user.CoreV1().Services(service.Namespace).UpdateStatus(ctx, svc, metav1.UpdateOptions{})
		return err
	})
}
