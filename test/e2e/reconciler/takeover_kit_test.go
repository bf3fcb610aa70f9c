package reconciler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

const (
	finalizer  = prefix + "/finalizer"
	kopfMemory = "kopf.zalando.org/last-handled-configuration"
)

// estate is a mux with its channels as the Python original leaves it.
type estate struct {
	*scene
	mux      types.NamespacedName
	channels []types.NamespacedName
	ports    []estatePort
}

// estatePort is a port of an original's channel.
type estatePort struct {
	channel  types.NamespacedName
	name     string
	protocol corev1.Protocol
	number   int32 // the channel's port number
	public   int32
	source   string
	backend  string
}

// muxName returns the original's name for the port on the mux.
func (p *estatePort) muxName() string {
	sum := sha256.Sum256([]byte(p.channel.String() + "/" + p.name))
	return hex.EncodeToString(sum[:])[:7]
}

// leave creates the objects that the original leaves, with a state of the caller's.
func (s *scene) leave(t *testing.T, name string, state func(*estate) map[string]any) *estate {
	t.Helper()
	e := &estate{scene: s, mux: types.NamespacedName{Namespace: muxNamespace, Name: name}}
	for i, p := range []estatePort{
		{channel: types.NamespacedName{Name: "api"}, name: "http", protocol: "TCP", number: 80, public: 20000,
			source: "auto"},
		{channel: types.NamespacedName{Name: "dns"}, name: "tcp", protocol: "TCP", number: 53, public: 53, source: "static"},
		{channel: types.NamespacedName{Name: "dns"}, name: "udp", protocol: "UDP", number: 53, public: 53, source: "static"},
		{channel: types.NamespacedName{Name: "p2p"}, name: "p2p", protocol: "TCP", number: 30303, public: 8080,
			source: "static"},
		{channel: types.NamespacedName{Name: "p2p"}, name: "admin", protocol: "TCP", number: 9000, public: 20007,
			source: "auto"},
	} {
		p.channel.Namespace, p.backend = name, fmt.Sprintf("10.0.7.%d", i+1)
		e.ports = append(e.ports, p)
		if !slices.Contains(e.channels, p.channel) {
			e.channels = append(e.channels, p.channel)
		}
	}
	e.leaveMux(t)
	for _, channel := range e.channels {
		e.leaveChannel(t, channel)
	}
	e.leaveState(t, state(e))
	e.leaveBackends(t)
	return e
}

func (e *estate) of(channel types.NamespacedName) []estatePort {
	return slices.DeleteFunc(slices.Clone(e.ports), func(p estatePort) bool { return p.channel != channel })
}

func (e *estate) leaveMux(t *testing.T) {
	t.Helper()
	var names []string
	for _, channel := range e.channels {
		names = append(names, channel.String())
	}
	list, err := json.Marshal(names)
	if err != nil {
		t.Fatal(err)
	}
	e.scene.mux(t, e.mux.Name, annotated("channels", string(list)), annotated("topology", "api\n  dns: -\n"),
		annotated("summary", "3 channel(s) | 5 port(s) | 5 pod(s)"), annotated(kopfMemory, `{"spec":{}}`),
		func(svc *corev1.Service) {
			svc.Finalizers, svc.Spec.Ports = []string{finalizer, "service.kubernetes.io/load-balancer-cleanup"}, nil
			for i := range e.ports {
				p := &e.ports[i]
				svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: p.muxName(), Port: p.public, Protocol: p.protocol})
			}
		})
}

func (e *estate) leaveChannel(t *testing.T, channel types.NamespacedName) {
	t.Helper()
	var shown, external []string
	edits := []edit{selectorless, annotated(kopfMemory, `{"spec":{}}`)}
	for _, p := range e.of(channel) {
		edits = append(edits, port(p.name, p.number, p.protocol))
		shown = append(shown, fmt.Sprintf("%s:%d->%d", p.name, p.number, p.public))
		switch {
		case p.source == "auto":
			external = append(external, p.name+":auto")
		case p.number != p.public:
			external = append(external, fmt.Sprintf("%s:%d", p.name, p.public))
		}
	}
	edits = append(edits, annotated("ports", strings.Join(shown, ", ")),
		annotated("external-ports", strings.Join(external, ",")),
		func(svc *corev1.Service) { svc.Finalizers = []string{finalizer} })
	e.scene.channel(t, channel.Namespace, channel.Name, e.mux, edits...)
	cluster.Eventually(t, "the mux has an address", func(context.Context) error {
		if address(e.get(t, e.mux)) == "" {
			return errors.New("no address yet")
		}
		return nil
	})
	e.patch(t, channel, map[string]any{"status": map[string]any{"loadBalancer": e.get(t, e.mux).Status.LoadBalancer}},
		"status")
}

// claimsOf returns the state as the original's later versions write it: claims, and a list of picked numbers.
func claimsOf(e *estate) map[string]any {
	claims, allocations := []any{}, []any{}
	for _, p := range e.ports {
		claim := map[string]any{
			"namespace": p.channel.Namespace, "service": p.channel.Name, "portName": p.name, "protocol": p.protocol,
			"channelPort": p.number, "muxPort": p.public, "port": p.public, "source": p.source,
		}
		claims = append(claims, claim)
		if p.source == "auto" {
			allocations = append(allocations, claim)
		}
	}
	return map[string]any{"portClaims": claims, "allocations": allocations}
}

// allocationsOf returns the state as the original's first versions write it.
func allocationsOf(e *estate) map[string]any {
	allocations := []any{}
	for _, p := range e.ports {
		if p.source == "auto" {
			allocations = append(allocations, map[string]any{
				"namespace": p.channel.Namespace, "service": p.channel.Name, "portName": p.name, "protocol": p.protocol,
				"port": p.public,
			})
		}
	}
	return map[string]any{"allocations": allocations}
}

// broken returns an invalid state.
func broken(*estate) map[string]any { return nil }

func (e *estate) leaveState(t *testing.T, state map[string]any) {
	t.Helper()
	text := []byte("{")
	if state != nil {
		state["schemaVersion"] = 1
		state["mux"] = map[string]string{"namespace": e.mux.Namespace, "name": e.mux.Name}
		var err error
		if text, err = json.MarshalIndent(state, "", "  "); err != nil {
			t.Fatal(err)
		}
	}
	key := ledgerOf(e.mux)
	_, err := e.user.CoreV1().ConfigMaps(key.Namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name,
			Labels:      map[string]string{"app.kubernetes.io/name": "svc-lb-mux", "app.kubernetes.io/component": "mux-state"},
			Annotations: map[string]string{prefix + "/mux": e.mux.String()},
		},
		Data: map[string]string{"allocations.json": string(text)},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// leaveBackends gives each port of a channel a backend, in Endpoints as the original reads them, and gives all of them
// to the mux. Kubernetes mirrors both.
func (e *estate) leaveBackends(t *testing.T) {
	t.Helper()
	var all []corev1.EndpointSubset //nolint:staticcheck // deprecated, and what the original reads and writes
	for _, channel := range e.channels {
		var own []corev1.EndpointSubset //nolint:staticcheck // as above
		for _, p := range e.of(channel) {
			own = append(own, subset(p.name, &p))
			all = append(all, subset(p.muxName(), &p))
		}
		meta := metav1.ObjectMeta{Name: channel.Name}
		endpoints := &corev1.Endpoints{ObjectMeta: meta, Subsets: own} //nolint:staticcheck // as above
		_, err := e.user.CoreV1().Endpoints(channel.Namespace).Create(t.Context(), endpoints, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	e.leaveEndpoints(t, e.mux, all)
	cluster.Eventually(t, "the original's backends are mirrored", func(context.Context) error {
		list, err := e.user.DiscoveryV1().EndpointSlices("").List(t.Context(), metav1.ListOptions{
			LabelSelector: discoveryv1.LabelManagedBy + "=" + project.MirroringController,
		})
		if err != nil {
			return err
		}
		have := slicesByName(list.Items)
		for _, channel := range e.channels {
			for _, p := range e.of(channel) {
				if !reaches(have, channel, p.name, p.backend) || !reaches(have, e.mux, p.muxName(), p.backend) {
					return fmt.Errorf("port %s of %s isn't mirrored", p.name, channel)
				}
			}
		}
		return nil
	})
}

//nolint:staticcheck // deprecated, and what the original reads and writes
func subset(name string, p *estatePort) corev1.EndpointSubset {
	return corev1.EndpointSubset{
		Addresses: []corev1.EndpointAddress{{IP: p.backend}},
		Ports:     []corev1.EndpointPort{{Name: name, Port: p.number, Protocol: p.protocol}},
	}
}

func slicesByName(list []discoveryv1.EndpointSlice) map[types.NamespacedName]*discoveryv1.EndpointSlice {
	all := map[types.NamespacedName]*discoveryv1.EndpointSlice{}
	for i := range list {
		all[types.NamespacedName{Namespace: list[i].Namespace, Name: list[i].Name}] = &list[i]
	}
	return all
}

// reaches returns whether a slice of a Service leads from a port to a ready backend.
func reaches(all map[types.NamespacedName]*discoveryv1.EndpointSlice, service types.NamespacedName, port,
	backend string) bool {
	for key, slice := range all {
		if key.Namespace != service.Namespace || slice.Labels[discoveryv1.LabelServiceName] != service.Name ||
			!slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return *p.Name == port }) {
			continue
		}
		if slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool {
			return e.Addresses[0] == backend && (e.Conditions.Ready == nil || *e.Conditions.Ready)
		}) {
			return true
		}
	}
	return false
}
