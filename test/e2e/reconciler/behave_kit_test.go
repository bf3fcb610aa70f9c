package reconciler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	reconciler "nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/cluster/faults"
)

// scene is a world with a reconciler at work, and a proxy before the API server that counts requests. Many tests share
// a scene, so each has its own mux and namespaces.
type scene struct {
	*world
	proxy *faults.Proxy
	run   *running
}

func newScene(t *testing.T, edits ...func(*reconciler.Process)) *scene {
	t.Helper()
	w := start(t, cluster.Helm(), cluster.NodePorts(nodePorts))
	w.restrain(t)
	proxy, err := faults.Start(w.Config, faults.Label("reconciler"), faults.LogSize(100_000))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	s := &scene{world: w, proxy: proxy}
	s.run = s.again(t, edits...)
	return s
}

// again runs a reconciler behind the proxy. Its lease is long, so that it stays the leader on a busy machine.
func (s *scene) again(t *testing.T, edits ...func(*reconciler.Process)) *running {
	t.Helper()
	return s.reconcile(t, append([]func(*reconciler.Process){func(p *reconciler.Process) {
		p.Config = s.proxy.Config()
		p.Options.LeaseDuration, p.Options.RenewDeadline = time.Minute, 50*time.Second
	}}, edits...)...)
}

// asks sets the numbers that a channel asks for.
func asks(externalPorts string) edit { return annotated("external-ports", externalPorts) }

// selectorless makes a Service whose endpoints its owner writes.
func selectorless(svc *corev1.Service) { svc.Spec.Selector = nil }

// families sets the address families of a Service.
func families(list ...corev1.IPFamily) edit {
	return func(svc *corev1.Service) {
		svc.Spec.IPFamilies = list
		if len(list) > 1 {
			policy := corev1.IPFamilyPolicyRequireDualStack
			svc.Spec.IPFamilyPolicy = &policy
		}
	}
}

// annotate sets annotations of ours on a Service, as a user does. An empty value removes one.
func (s *scene) annotate(t *testing.T, service types.NamespacedName, pairs ...string) {
	t.Helper()
	annotations := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		key := pairs[i]
		if !strings.Contains(key, "/") {
			key = prefix + "/" + key
		}
		annotations[key] = pairs[i+1]
		if pairs[i+1] == "" {
			annotations[key] = nil
		}
	}
	s.patch(t, service, map[string]any{"metadata": map[string]any{"annotations": annotations}})
}

func (s *scene) patch(t *testing.T, service types.NamespacedName, body map[string]any, subresources ...string) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.user.CoreV1().Services(service.Namespace).Patch(t.Context(), service.Name, types.MergePatchType, text,
		metav1.PatchOptions{}, subresources...); err != nil {
		t.Fatal(err)
	}
}

// muxOf returns the mux that a channel names.
func muxOf(t *testing.T, channel *corev1.Service) types.NamespacedName {
	t.Helper()
	if channel.Spec.LoadBalancerClass == nil {
		t.Fatalf("%s/%s isn't a channel", channel.Namespace, channel.Name)
	}
	name, namespace, _ := strings.Cut(strings.TrimPrefix(*channel.Spec.LoadBalancerClass, prefix+"/"), ".")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// awaitServed waits until a channel has exactly these ports, such as "http:80->20000". It must show them to users: in
// its annotation, its conditions, and with the mux's address.
func (s *scene) awaitServed(t *testing.T, channel types.NamespacedName, ports string) {
	t.Helper()
	s.awaitShown(t, channel, ports, "True Accepted")
}

// awaitShown does the same with another Accepted condition.
func (s *scene) awaitShown(t *testing.T, channel types.NamespacedName, ports, accepted string) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("%s is served with %s, %s", channel, ports, accepted), func(context.Context) error {
		svc := s.get(t, channel)
		mux := s.get(t, muxOf(t, svc))
		problems := []error{
			differs("ports", svc.Annotations[prefix+"/ports"], ports),
			differs("Accepted", condition(svc, "Accepted"), accepted),
			differs("Programmed", condition(svc, "Programmed"), "True Programmed"),
			differs("address", address(svc), proxied(mux)),
		}
		public, names := publicOf(mux), regexp.MustCompile(`([^ ,:]+):\d+->(\d+)`).FindAllStringSubmatch(ports, -1)
		for _, match := range names {
			protocol := corev1.ProtocolTCP
			for _, port := range svc.Spec.Ports {
				if port.Name == match[1] {
					protocol = port.Protocol
				}
			}
			if slot := match[2] + "/" + string(protocol); !slices.Contains(public, slot) {
				problems = append(problems, fmt.Errorf("the mux has %v, want %s, too", public, slot))
			}
		}
		return errors.Join(problems...)
	})
}

func differs(what, got, want string) error {
	if got == want && want != "" {
		return nil
	}
	return fmt.Errorf("%s is %q, want %q", what, got, want)
}

// proxied returns a mux's address in the form that its channels show.
func proxied(mux *corev1.Service) string {
	var list []string
	for _, ingress := range mux.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			ingress.IP += " Proxy"
		}
		list = append(list, ingress.IP+ingress.Hostname)
	}
	return strings.Join(list, ", ")
}

func publicOf(mux *corev1.Service) []string {
	var ports []string
	for _, port := range mux.Spec.Ports {
		ports = append(ports, fmt.Sprintf("%d/%s", port.Port, port.Protocol))
	}
	slices.Sort(ports)
	return ports
}

// awaitRefused waits until a channel has no ports, and its conditions and an Event give the reason.
func (s *scene) awaitRefused(t *testing.T, channel types.NamespacedName, reason string) {
	t.Helper()
	s.awaitNothing(t, channel, "False "+reason)
	s.awaitTold(t, channel, "Warning "+reason+" ")
}

// awaitNothing waits until a channel has no port and no address, and has this Accepted condition.
func (s *scene) awaitNothing(t *testing.T, channel types.NamespacedName, accepted string) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("%s has nothing, %s", channel, accepted), func(context.Context) error {
		svc := s.get(t, channel)
		programmed := condition(svc, "Programmed")
		if condition(svc, "Accepted") != accepted || !strings.HasPrefix(programmed, "False ") ||
			condition(svc, "BackendsReady") != "" || address(svc) != "" || svc.Annotations[prefix+"/ports"] != "" {
			return fmt.Errorf("the channel shows %q %q, %v", address(svc), svc.Annotations[prefix+"/ports"],
				svc.Status.Conditions)
		}
		return nil
	})
}

// awaitBare waits until a Service has nothing of ours.
func (s *scene) awaitBare(t *testing.T, service types.NamespacedName) {
	t.Helper()
	cluster.Eventually(t, service.String()+" has nothing of ours", func(context.Context) error {
		svc := s.get(t, service)
		for _, kind := range []string{"Accepted", "Programmed", "BackendsReady"} {
			if condition(svc, kind) != "" {
				return fmt.Errorf("conditions %v", svc.Status.Conditions)
			}
		}
		if note, has := svc.Annotations[prefix+"/ports"]; has || address(svc) != "" {
			return fmt.Errorf("the Service shows %q and %q", address(svc), note)
		}
		return nil
	})
}

// awaitTold waits for an Event whose text has all the words.
func (s *scene) awaitTold(t *testing.T, about types.NamespacedName, words ...string) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("%s has an Event with %q", about, words), func(context.Context) error {
		if all := s.events(t, about); len(having(all, words...)) == 0 {
			return fmt.Errorf("events: %v", all)
		}
		return nil
	})
}

// having returns the texts that have all the words.
func having(texts []string, words ...string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
	})
}

// ledgerFile is the part of a ledger that tests use.
type ledgerFile struct {
	SchemaVersion int           `json:"schemaVersion"`
	Generation    int64         `json:"generation"`
	PortClaims    []ledgerClaim `json:"portClaims"`
	Released      []ledgerClaim `json:"released"`
}

type ledgerClaim struct {
	Namespace   string `json:"namespace"`
	Service     string `json:"service"`
	PortName    string `json:"portName"`
	Protocol    string `json:"protocol"`
	ChannelPort int32  `json:"channelPort"`
	MuxPort     int32  `json:"muxPort"`
	Port        int32  `json:"port"`
	Source      string `json:"source"`
	Name        string `json:"name,omitempty"`
	State       string `json:"state,omitempty"`
}

func ledgerOf(mux types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Namespace: mux.Namespace, Name: mux.Name + "-port-allocations"}
}

func (s *scene) configMap(t *testing.T, key types.NamespacedName) *corev1.ConfigMap {
	t.Helper()
	cm, err := s.user.CoreV1().ConfigMaps(key.Namespace).Get(t.Context(), key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return cm
}

// writeLedger changes a mux's ledger as another user.
func (s *scene) writeLedger(t *testing.T, mux types.NamespacedName, data map[string]string) {
	t.Helper()
	cm := s.configMap(t, ledgerOf(mux))
	for cm != nil {
		cm.Data, cm.BinaryData = data, nil
		_, err := s.user.CoreV1().ConfigMaps(cm.Namespace).Update(t.Context(), cm, metav1.UpdateOptions{})
		if err == nil {
			return
		}
		if !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
		cm = s.configMap(t, ledgerOf(mux))
	}
	t.Fatalf("mux %s has no ledger", mux)
}

func (s *scene) deleteLedger(t *testing.T, mux types.NamespacedName) {
	t.Helper()
	key := ledgerOf(mux)
	if err := s.user.CoreV1().ConfigMaps(key.Namespace).Delete(t.Context(), key.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// claims returns the claims of a mux's ledger: "20000/TCP app/web http auto", and then claims in release or grace, with
// their state.
func (s *scene) claims(t *testing.T, mux types.NamespacedName) []string {
	t.Helper()
	cm := s.configMap(t, ledgerOf(mux))
	if cm == nil {
		return nil
	}
	var file ledgerFile
	if err := json.Unmarshal([]byte(cm.Data["allocations.json"]), &file); err != nil {
		return []string{err.Error()}
	}
	list := []string{}
	for _, c := range append(file.PortClaims, file.Released...) {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%d/%s %s/%s %s %s %s",
			c.MuxPort, c.Protocol, c.Namespace, c.Service, c.PortName, c.Source, c.State)))
	}
	slices.Sort(list)
	return list
}

func (s *scene) awaitClaims(t *testing.T, mux types.NamespacedName, want ...string) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("the ledger of %s has %q", mux, want), func(context.Context) error {
		if got := s.claims(t, mux); !slices.Equal(got, want) {
			return fmt.Errorf("the ledger has %q", got)
		}
		return nil
	})
}

// backends writes a slice of a channel, as its owner may. Ports are "http:8080/TCP". Endpoints are "10.0.0.1" or, if
// not ready, "10.0.0.1-".
func (s *scene) backends(t *testing.T, channel types.NamespacedName, name, ports string, endpoints ...string) {
	t.Helper()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: channel.Namespace, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: channel.Name},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{},
	}
	for word := range strings.FieldsSeq(ports) {
		port, number := endpointPort(t, word)
		port.Port = &number
		slice.Ports = append(slice.Ports, port)
	}
	for _, endpoint := range endpoints {
		ip, not := strings.CutSuffix(endpoint, "-")
		ready := !not
		if strings.Contains(ip, ":") {
			slice.AddressType = discoveryv1.AddressTypeIPv6
		}
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{ip}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		})
	}
	s.writeSlice(t, slice)
}

func endpointPort(t *testing.T, word string) (discoveryv1.EndpointPort, int32) {
	t.Helper()
	word, protocol, _ := strings.Cut(word, "/")
	name, text, _ := strings.Cut(word, ":")
	var number int32
	if _, err := fmt.Sscan(text, &number); err != nil {
		t.Fatalf("port %q: %v", word, err)
	}
	of := corev1.ProtocolTCP
	if protocol != "" {
		of = corev1.Protocol(protocol)
	}
	return discoveryv1.EndpointPort{Name: &name, Protocol: &of}, number
}

func (s *scene) writeSlice(t *testing.T, slice *discoveryv1.EndpointSlice) {
	t.Helper()
	all := s.user.DiscoveryV1().EndpointSlices(slice.Namespace)
	_, err := all.Update(t.Context(), slice, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = all.Create(t.Context(), slice, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// slicesOn returns our slices on a mux.
func (s *scene) slicesOn(t *testing.T, mux types.NamespacedName) []discoveryv1.EndpointSlice {
	t.Helper()
	list, err := s.user.DiscoveryV1().EndpointSlices(mux.Namespace).List(t.Context(), metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + mux.Name + "," + discoveryv1.LabelManagedBy + "=" + prefix,
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// carried returns a mux's ports with their backends: "20000/TCP 8080: 10.0.0.1 10.0.0.2-" for each port of each slice
// with endpoints.
func (s *scene) carried(t *testing.T, mux types.NamespacedName) []string {
	t.Helper()
	list, svc := s.slicesOn(t, mux), s.get(t, mux)
	slots := map[string]string{}
	for _, port := range svc.Spec.Ports {
		slots[port.Name] = fmt.Sprintf("%d/%s", port.Port, port.Protocol)
	}
	lines := []string{}
	for i := range list {
		for _, port := range list[i].Ports {
			slot, known := slots[*port.Name]
			if !known {
				slot = "no port " + *port.Name
			}
			if line := fmt.Sprintf("%s %d:%s", slot, *port.Port, endpointsText(list[i].Endpoints)); !strings.HasSuffix(line,
				":") {
				lines = append(lines, line)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func endpointsText(endpoints []discoveryv1.Endpoint) string {
	var b strings.Builder
	for _, e := range endpoints {
		b.WriteString(" " + e.Addresses[0])
		if e.Conditions.Ready != nil && !*e.Conditions.Ready {
			b.WriteString("-")
		}
	}
	return b.String()
}

func (s *scene) awaitCarried(t *testing.T, mux types.NamespacedName, want ...string) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("mux %s leads to %q", mux, want), func(context.Context) error {
		if got := s.carried(t, mux); !slices.Equal(got, want) {
			return fmt.Errorf("the mux carries %q", got)
		}
		return nil
	})
}

// portName returns the name of a mux's port.
func (s *scene) portName(t *testing.T, mux types.NamespacedName, number int32) string {
	t.Helper()
	for _, port := range s.get(t, mux).Spec.Ports {
		if port.Port == number {
			return port.Name
		}
	}
	t.Fatalf("mux %s has no port %d", mux, number)
	return ""
}

// writes counts the reconciler's writes of some objects.
func (s *scene) writes(match func(faults.Request) bool) int {
	count := 0
	for _, entry := range s.proxy.Log() {
		if entry.IsWrite() && !faults.Leases(entry.Request) && match(entry.Request) {
			count++
		}
	}
	return count
}

func writesOf(service types.NamespacedName) func(faults.Request) bool {
	return func(r faults.Request) bool {
		return r.Resource == "services" && r.Namespace == service.Namespace && r.Name == service.Name
	}
}

// quiet waits until no requests, except for leases, have come for a while.
func (s *scene) quiet(t *testing.T, for_ time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.proxy.Quiet(ctx, for_, faults.Leases); err != nil {
		t.Fatalf("%v\n%v", err, s.proxy.Log())
	}
}

// eventually waits until a condition is true.
func (s *scene) eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	cluster.Eventually(t, what, func(context.Context) error {
		if !so() {
			return errors.New("not true")
		}
		return nil
	})
}
