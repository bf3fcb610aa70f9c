package api_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/sim/api"
)

// TestSameObjectsAreGarbageCollected makes the same random graphs of owners on both servers, and deletes some of the
// objects. It compares the remaining objects, their finalizers and their references.
func TestSameObjectsAreGarbageCollected(t *testing.T) {
	t.Parallel()
	real := clientOf(t, cluster.Start(t))
	ours := map[string]map[string]string{}
	all := seeds()
	for _, seed := range all[:(len(all)+1)/2] { // a graph takes the time of two sequences
		place := fmt.Sprintf("garbage-%d", seed)
		namespace(t, real, place)
		namespace(t, real, place+"-b")
		server := api.NewServer(time.Now)
		g := newGraph(rand.New(rand.NewPCG(seed, 1)))
		g.act(t, &estate{Client: &api.Client{Server: server}, place: place})
		collect(t, server, g.Rand)
		ours[place] = left(t, &api.Client{Server: server}, place)
		g.act(t, &estate{Client: real, place: place})
	}
	same := func(ctx context.Context) error {
		for place, ours := range ours {
			if diff := cmp.Diff(left(t, real, place), ours); diff != "" {
				return fmt.Errorf("%s: the real server (-) and ours (+) leave different objects:\n%s\nagain: go test "+
					"./test/sim/api -run Collected -args -first=%s -sequences=1",
					place, diff, strings.TrimPrefix(place, "garbage-"))
			}
		}
		return ctx.Err()
	}
	cluster.Eventually(t, "the real garbage collector leaves what ours does", same)
	sentinel(t, real)
	if err := same(t.Context()); err != nil {
		t.Errorf("after the graph: %v", err)
	}
}

// sentinel creates an orphan last. Once it is collected, all others are, too.
func sentinel(t *testing.T, real client.Client) {
	t.Helper()
	orphan := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "orphan",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "nobody", UID: "no"}}}}
	if err := real.Create(t.Context(), orphan); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the last orphan is collected", func(ctx context.Context) error {
		err := real.Get(ctx, client.ObjectKeyFromObject(orphan), orphan)
		if err == nil {
			return fmt.Errorf("the sentinel still exists")
		}
		return client.IgnoreNotFound(err)
	})
}

// collect carries out the garbage collector's changes in random order until none is left.
func collect(t *testing.T, server *api.Server, rng *rand.Rand) {
	t.Helper()
	for range 1000 {
		orphans := server.Orphans()
		if len(orphans) == 0 {
			return
		}
		if err := server.Collect(&orphans[rng.IntN(len(orphans))]); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("garbage collection doesn't end: %v", server.Orphans())
}

// left returns the remaining objects of a graph. It leaves out the references that an object lost before its own
// deletion, because they depend on the order.
func left(t *testing.T, c client.Client, place string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, list := range lists() {
		if err := c.List(t.Context(), list, client.MatchingLabels{"graph": place}); err != nil {
			t.Fatal(err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			obj := item.(client.Object)
			var owners []string
			for _, owner := range obj.GetOwnerReferences() {
				owners = append(owners, owner.Kind+" "+owner.Name)
			}
			what := fmt.Sprintf("owners %v, finalizers %v", owners, obj.GetFinalizers())
			if obj.GetDeletionTimestamp() != nil {
				what = fmt.Sprintf("being deleted, finalizers %v", obj.GetFinalizers())
			}
			all[fmt.Sprintf("%T %s", obj, client.ObjectKeyFromObject(obj))] = what
		}
	}
	return all
}

// graph is a series of deeds, the same on both servers. Nodes are named by number.
type graph struct {
	*rand.Rand
	nodes []node
	deeds []deed
}

type node struct {
	kind      api.Kind
	place     string
	owners    []reference
	finalizer bool
}

// reference is a reference to another node, correct or wrong.
type reference struct {
	to    int
	wrong string // "uid", "name", "kind", "unknown" or nothing
}

type deed struct {
	what string // "delete", "release" or "replace"
	node int
}

func newGraph(rng *rand.Rand) *graph {
	g := &graph{Rand: rng}
	r := &requests{Rand: rng}
	for i := range 8 + g.IntN(16) {
		n := node{kind: pick(r, api.Services, api.ConfigMaps, api.EndpointSlices), place: pick(r, "", "", "", "-b"),
			finalizer: g.IntN(5) == 0}
		for _, to := range g.Perm(i)[:min(i, g.IntN(3))] {
			n.owners = append(n.owners,
				reference{to: to, wrong: pick(r, "", "", "", "", "", "", "uid", "name", "kind", "unknown")})
		}
		g.nodes = append(g.nodes, n)
	}
	for range g.IntN(len(g.nodes)) {
		d := deed{what: pick(r, "delete", "delete", "release", "replace"), node: g.IntN(len(g.nodes))}
		if n := &g.nodes[d.node]; d.what == "replace" && (len(n.owners) > 0 || n.finalizer) {
			d.what = "delete" // replacing would depend on the order: the old object may still exist
		}
		g.deeds = append(g.deeds, d)
	}
	return g
}

// estate is the place on a server in which a graph is made.
type estate struct {
	client.Client
	place string
	uids  []types.UID
}

func (g *graph) act(t *testing.T, e *estate) {
	t.Helper()
	for i := range g.nodes {
		obj := g.object(e, i)
		if err := e.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		e.uids = append(e.uids, obj.GetUID())
	}
	for _, d := range g.deeds {
		if err := g.do(t, e, d); client.IgnoreNotFound(err) != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("%+v: %v", d, err)
		}
	}
}

func (g *graph) do(t *testing.T, e *estate, d deed) error {
	obj := g.object(e, d.node)
	if d.what == "release" {
		return e.Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	}
	err := e.Delete(t.Context(), obj)
	if d.what == "replace" {
		return e.Create(t.Context(), g.object(e, d.node))
	}
	return err
}

func (g *graph) object(e *estate, i int) client.Object {
	n := &g.nodes[i]
	obj := blank(n.kind)
	obj.SetNamespace(e.place + n.place)
	obj.SetName(fmt.Sprintf("n%d", i))
	obj.SetLabels(map[string]string{"graph": e.place})
	if n.finalizer {
		obj.SetFinalizers([]string{"example.com/a"})
	}
	var owners []metav1.OwnerReference
	for _, r := range n.owners {
		owners = append(owners, g.owner(e, r))
	}
	obj.SetOwnerReferences(owners)
	return obj
}

func (g *graph) owner(e *estate, r reference) metav1.OwnerReference {
	o := ownerOf(g.nodes[r.to].kind)
	o.Name, o.UID = fmt.Sprintf("n%d", r.to), e.uids[r.to]
	switch r.wrong {
	case "uid":
		o.UID = types.UID(fmt.Sprintf("11111111-2222-3333-4444-%012d", r.to))
	case "name":
		o.Name = "nobody"
	case "kind":
		o.Kind, o.APIVersion = "Endpoints", "v1"
	case "unknown":
		o.Kind, o.APIVersion = "Thing", "example.com/v1"
	}
	return o
}

func blank(kind api.Kind) client.Object {
	switch kind {
	case api.Services:
		return &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	case api.EndpointSlices:
		return &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4}
	}
	return &corev1.ConfigMap{}
}

func ownerOf(kind api.Kind) metav1.OwnerReference {
	switch kind {
	case api.Services:
		return metav1.OwnerReference{APIVersion: "v1", Kind: "Service"}
	case api.EndpointSlices:
		return metav1.OwnerReference{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"}
	}
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap"}
}
