package gatewayapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// stage has the objects of one sentence: a Gateway in the namespace infra, and the namespaces a and b of two tenants.
// Their real names begin with the stage's name. Each namespace has the Service web: its port 80 answers with the
// namespace's name, and its port 81 with the name and "-admin".
type stage struct {
	*served
	*testing.T
	name    string
	address string
}

// namespaces are the short names of a stage's namespaces. The backends of a namespace have its index plus 1 in their
// addresses.
var namespaces = [...]string{"infra", "a", "b"}

func (s *served) stage(t *testing.T, name string) *stage {
	t.Helper()
	g := &stage{served: s, T: t, name: name}
	for i, namespace := range namespaces {
		g.make(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {team: %s}}}\n---",
			g.real(namespace), namespace) +
			backend(g.real(namespace), "web", i+1))
	}
	return g
}

// real is the name that a namespace of the stage has in the cluster.
func (g *stage) real(namespace string) string { return g.name + "-" + namespace }

// make applies manifests without kubectl, which takes half a second each time.
func (g *stage) make(manifests string) {
	g.Helper()
	for _, object := range g.objects(manifests) {
		if err := g.api.Apply(g.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"),
			client.ForceOwnership); err != nil {
			g.Fatalf("%v: %v", object, err)
		}
	}
}

// objects reads manifests. $infra, $a and $b stand for the namespaces.
func (g *stage) objects(manifests string) (all []*unstructured.Unstructured) {
	g.Helper()
	for _, namespace := range namespaces {
		manifests = strings.ReplaceAll(manifests, "$"+namespace, g.real(namespace))
	}
	for text := range strings.SplitSeq(manifests, "\n---") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			g.Fatalf("%v\n%s", err, text)
		}
		if len(object.Object) > 0 {
			all = append(all, object)
		}
	}
	return all
}

// tcp is a listener of protocol TCP. more is added to its YAML.
func tcp(name string, port int, more ...string) string {
	return fmt.Sprintf("{name: %s, port: %d, protocol: TCP%s}", name, port,
		strings.Join(append([]string{""}, more...), ", "))
}

// gateway makes the Gateway edge. allows is the content of allowedListeners.namespaces.
func (g *stage) gateway(allows string, listeners ...string) {
	g.Helper()
	g.make(gatewayOf("mux", allows, listeners...))
}

func gatewayOf(class, allows string, listeners ...string) string {
	if allows != "" {
		allows = ", allowedListeners: {namespaces: {" + allows + "}}"
	}
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: $infra}
spec: {gatewayClassName: %s%s, listeners: [%s]}`, class, allows, strings.Join(listeners, ", "))
}

// set makes a ListenerSet of the Gateway, such as a/one.
func (g *stage) set(name string, listeners ...string) {
	g.Helper()
	g.make(setOf(name, "name: edge, namespace: $infra", listeners...))
}

func setOf(name, parent string, listeners ...string) string {
	namespace, name, _ := strings.Cut(name, "/")
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: %s, namespace: $%s}
spec: {parentRef: {%s}, listeners: [%s]}`, name, namespace, parent, strings.Join(listeners, ", "))
}

// route makes a TCPRoute to a backend, such as "name: web, port: 80".
func (g *stage) route(name, backend string, parents ...string) {
	g.Helper()
	namespace, name, _ := strings.Cut(name, "/")
	g.make(routeOf("name: "+name+", namespace: $"+namespace, backend, parents...))
}

func routeOf(metadata, backend string, parents ...string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {%s}
spec: {parentRefs: [{%s}], rules: [{backendRefs: [{%s}]}]}`, metadata, strings.Join(parents, "}, {"), backend)
}

// Backends and parents of routes.
const (
	web      = "name: web, port: 80"
	admin    = "name: web, port: 81"
	edge     = "name: edge, namespace: $infra"
	one, two = "kind: ListenerSet, name: one", "kind: ListenerSet, name: two"
)

func (g *stage) remove(object client.Object, name string) {
	g.Helper()
	namespace, name, _ := strings.Cut(name, "/")
	object.SetNamespace(g.real(namespace))
	object.SetName(name)
	if err := g.api.Delete(g.Context(), object); err != nil {
		g.Fatal(err)
	}
}

// later waits until a new object has a later creation time, which counts seconds.
func (g *stage) later() { time.Sleep(1100 * time.Millisecond) }

// want waits until the cluster says all facts at once. A fact has a subject and what must be said of it:
//
//	gateway: Accepted=True/Accepted sets=1           the Gateway, with attachedListenerSets and its listeners
//	gateway/web: Programmed=True/Programmed routes=2 its listener, with attachedRoutes and supportedKinds
//	set a/one: Accepted=False/NotAllowed             a ListenerSet
//	set a/one/tcp: Conflicted=True/ListenerConflict  its listener
//	route a/r: parents=2                             a TCPRoute
//	route a/r at one/tcp: Accepted=True/Accepted     what it is told of a parentRef
//	port 9000: a-admin                               the answer; "nothing" without one
//	mux: ports=9000/TCP                              the ports of the mux
//
// A condition of an older generation is "stale".
func (g *stage) want(facts ...string) {
	g.Helper()
	cluster.Eventually(g.T, strings.Join(facts, "; "), func(ctx context.Context) error {
		for _, fact := range facts {
			subject, want, _ := strings.Cut(fact, ": ")
			said, err := g.say(ctx, strings.Fields(subject), want)
			if err != nil {
				return fmt.Errorf("%s: %w", subject, err)
			}
			for word := range strings.FieldsSeq(want) {
				if !slices.Contains(said, word) {
					return fmt.Errorf("%s: %s", subject, strings.Join(said, " "))
				}
			}
		}
		return nil
	})
}

// say returns what the cluster says of a subject.
func (g *stage) say(ctx context.Context, subject []string, want string) ([]string, error) {
	kind, part, _ := strings.Cut(subject[0], "/")
	switch kind {
	case "gateway":
		return g.sayGateway(ctx, part)
	case "set":
		return g.saySet(ctx, strings.Split(subject[1], "/"))
	case "route":
		return g.sayRoute(ctx, subject)
	case "port":
		if want != "nothing" {
			short, cancel := context.WithTimeout(ctx, soon)
			defer cancel()
			ctx = short
		}
		return g.sayPort(ctx, subject[1])
	case "mux":
		return g.sayMux(ctx)
	}
	return nil, fmt.Errorf("unknown subject %v", subject)
}

// soon is the timeout of a connection that must be answered. A packet that is sent before kube-proxy has the port is
// lost, and TCP sends the next one a second later.
const soon = 400 * time.Millisecond

func sayConditions(conditions []metav1.Condition, generation int64) (words []string) {
	for _, c := range conditions {
		if c.ObservedGeneration != generation && c.Reason != "Pending" {
			words = append(words, c.Type+"=stale")
			continue
		}
		words = append(words, c.Type+"="+string(c.Status)+"/"+c.Reason)
	}
	return words
}

func sayListener(conditions []metav1.Condition, generation int64, routes int32,
	kinds []gatewayv1.RouteGroupKind) []string {
	var names []string
	for _, kind := range kinds {
		names = append(names, string(kind.Kind))
	}
	return append(sayConditions(conditions, generation), fmt.Sprintf("routes=%d", routes),
		"kinds="+strings.Join(names, ","))
}

func (g *stage) sayGateway(ctx context.Context, listener string) ([]string, error) {
	var gateway gatewayv1.Gateway
	if err := g.api.Get(ctx, named(g.real("infra"), "edge"), &gateway); err != nil {
		return nil, err
	}
	var names []string
	for _, l := range gateway.Status.Listeners {
		if string(l.Name) == listener {
			return sayListener(l.Conditions, gateway.Generation, l.AttachedRoutes, l.SupportedKinds), nil
		}
		names = append(names, string(l.Name))
	}
	if listener != "" {
		return nil, fmt.Errorf("its status has no listener %s", listener)
	}
	return append(sayConditions(gateway.Status.Conditions, gateway.Generation),
		fmt.Sprintf("sets=%d", ptr.Deref(gateway.Status.AttachedListenerSets, -1)),
		"listeners="+strings.Join(names, ",")), nil
}

func (g *stage) saySet(ctx context.Context, path []string) ([]string, error) {
	set, err := g.getSet(ctx, path[0], path[1])
	if err != nil {
		return nil, err
	}
	var names []string
	for _, l := range set.Status.Listeners {
		if len(path) > 2 && string(l.Name) == path[2] {
			return sayListener(l.Conditions, set.Generation, l.AttachedRoutes, l.SupportedKinds), nil
		}
		names = append(names, string(l.Name))
	}
	if len(path) > 2 {
		return nil, fmt.Errorf("its status has no listener %s", path[2])
	}
	return append(sayConditions(set.Status.Conditions, set.Generation), "listeners="+strings.Join(names, ",")), nil
}

func (g *stage) getSet(ctx context.Context, namespace, name string) (*gatewayv1.ListenerSet, error) {
	var set gatewayv1.ListenerSet
	return &set, g.api.Get(ctx, named(g.real(namespace), name), &set)
}

func (g *stage) sayRoute(ctx context.Context, subject []string) ([]string, error) {
	namespace, name, _ := strings.Cut(subject[1], "/")
	var route gatewayv1.TCPRoute
	if err := g.api.Get(ctx, named(g.real(namespace), name), &route); err != nil {
		return nil, err
	}
	if len(subject) < 4 {
		return []string{fmt.Sprintf("parents=%d", len(route.Status.Parents))}, nil
	}
	var words []string // of all controllers: the allocator's conditions have other types
	for _, parent := range route.Status.Parents {
		at := string(parent.ParentRef.Name)
		if parent.ParentRef.SectionName != nil {
			at += "/" + string(*parent.ParentRef.SectionName)
		}
		if at == subject[3] {
			words = append(words, sayConditions(parent.Conditions, route.Generation)...)
		}
	}
	if words == nil {
		return nil, fmt.Errorf("nothing is said of the parent: %+v", route.Status)
	}
	return words, nil
}

func (g *stage) sayPort(ctx context.Context, port string) ([]string, error) {
	if g.address == "" {
		var gateway gatewayv1.Gateway
		if err := g.api.Get(ctx, named(g.real("infra"), "edge"), &gateway); err != nil {
			return nil, err
		}
		if len(gateway.Status.Addresses) == 0 {
			return nil, errors.New("the Gateway has no address")
		}
		g.address = gateway.Status.Addresses[0].Value
	}
	var number int
	if _, err := fmt.Sscan(port, &number); err != nil {
		return nil, err
	}
	if answer, err := g.ask(ctx, g.address, number); err == nil {
		return []string{backendNamed(answer)}, nil
	}
	return []string{"nothing"}, nil
}

// backendNamed returns the name of the backend that has an address; the address if none has it.
func backendNamed(address string) string {
	for i, namespace := range namespaces {
		switch address {
		case fmt.Sprintf("10.244.200.%d:8080", i+1):
			return namespace
		case fmt.Sprintf("10.244.200.%d:9090", i+1):
			return namespace + "-admin"
		}
	}
	return address
}

func (g *stage) sayMux(ctx context.Context) ([]string, error) {
	var mux corev1.Service
	if err := g.api.Get(ctx, named(g.real("infra"), "gateway-edge"), &mux); err != nil {
		return nil, err
	}
	return []string{"ports=" + portsOf(&mux)}, nil
}

func portsOf(svc *corev1.Service) string {
	var ports []string
	for _, p := range svc.Spec.Ports {
		ports = append(ports, fmt.Sprintf("%d/%s", p.Port, p.Protocol))
	}
	slices.Sort(ports)
	return strings.Join(ports, ",")
}

// message returns the message of a condition of a set's listener.
func (g *stage) message(namespace, set, listener, condition string) string {
	g.Helper()
	is, err := g.getSet(g.Context(), namespace, set)
	if err != nil {
		g.Fatal(err)
	}
	for _, l := range is.Status.Listeners {
		if c := meta.FindStatusCondition(l.Conditions, condition); string(l.Name) == listener && c != nil {
			return c.Message
		}
	}
	g.Fatalf("listener %s has no condition %s: %+v", listener, condition, is.Status)
	return ""
}
