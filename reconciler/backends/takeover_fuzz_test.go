package backends

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// Bits for the objects beside the mux and the Endpoints.
const (
	decides  = 1 << iota // claims are known
	attaches             // there is a channel, which has the claims
	stands               // its slices are in place on the mux
)

// enough is how many passes a takeover may take if it has nothing to wait for.
const enough = 5

// FuzzTakeover takes any Endpoints beside any Service. Endpoints that aren't the original's are never written. The
// original's Endpoints stay until our slices have the backends of each port. Then the takeover adds the label
// skip-mirror to the Endpoints, changes nothing else, and deletes them. Endpoints that have the label are deleted at
// once.
func FuzzTakeover(f *testing.F) {
	golden.Seeds(f)
	const mux = `{"metadata":{"annotations":{"svc-mux.nowake.ai/multiplexer":"true"}},
		"spec":{"type":"LoadBalancer","ports":[{"name":"a","port":1},{"name":"b","port":2}]}}`
	const head = `{"metadata":{"uid":"e","resourceVersion":"7","labels":{"app.kubernetes.io/managed-by":"svc-lb-mux"},
		"annotations":{"svc-mux.nowake.ai/managed":"true"}}`
	const subsets = `,"subsets":[{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"name":"a","port":8080}]},
		{"notReadyAddresses":[{"ip":"10.0.0.2"}],"ports":[{"name":"b","port":8080}]}]}`
	ready := uint8(decides | attaches | stands)
	for _, beside := range []uint8{0, decides, ready, ready &^ stands, ready &^ attaches, ready &^ decides} {
		f.Add([]byte(mux), []byte(head+subsets), "a", beside)
	}
	f.Add([]byte(mux), []byte(head+subsets), "b", ready)
	f.Add([]byte(mux), []byte(head+`}`), "", ready)
	f.Add([]byte(mux), []byte(strings.Replace(head, `"labels":{`,
		`"labels":{"endpointslice.kubernetes.io/skip-mirror":"true",`, 1)+subsets), "a,b", uint8(0))
	f.Add([]byte(mux), []byte(strings.Replace(head, `svc-lb-mux"`, `Helm"`, 1)+subsets), "a,b", ready)
	f.Add([]byte(mux), []byte(strings.Replace(head, `"true"`, `"false"`, 1)+subsets), "a,b", ready)
	f.Add([]byte(strings.Replace(mux, "LoadBalancer", "ClusterIP", 1)), []byte(head+subsets), "a,b", ready)
	f.Add([]byte(`{}`), []byte(`{}`), "", uint8(0))
	f.Add([]byte(strings.ReplaceAll(mux, `"name":"a",`, "")), []byte(head+strings.ReplaceAll(subsets, `"name":"a",`, "")),
		",", ready)
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		f.Fatal(err)
	}

	f.Fuzz(func(t *testing.T, first, second []byte, claimed string, beside uint8) {
		mux, left := &corev1.Service{}, &corev1.Endpoints{} //nolint:staticcheck // deprecated, and what the original writes
		if json.Unmarshal(first, mux) != nil || json.Unmarshal(second, left) != nil || len(claimed) > 100 {
			return
		}
		s := newShelf(t, language, mux, left, strings.Split(claimed, ","), beside)
		may, waits := s.mayLetGo(beside, claimed)
		var want []string
		if may && !s.labelled() {
			want = append(want, `patch {"metadata":{"labels":{"endpointslice.kubernetes.io/skip-mirror":"true"},`+
				`"resourceVersion":`+jsonOf(left.ResourceVersion)+`}}`)
		}
		if may {
			want = append(want, "delete "+string(left.UID))
		}
		steps := 0
		for ; steps < enough; steps++ {
			result, err := s.Reconcile(t.Context(), reconcile.Request{NamespacedName: muxOnShelf()})
			if err != nil {
				t.Fatal(err)
			}
			if result.RequeueAfter == 0 {
				break
			}
		}
		if diff := cmp.Diff(want, s.asked); diff != "" {
			t.Errorf("(-want +asked for)\n%s", diff)
		}
		isDone := s.done[muxOnShelf()] == mux.UID
		if waits && !may && (steps < enough || isDone) {
			t.Error("it isn't waited for")
		}
		if !waits && steps > 0 {
			t.Errorf("it takes %d steps, and there is nothing to wait for", steps)
		}
		if s.mux(mux).IsMux && isDone != (may || !waits) {
			t.Errorf("done: %t", isDone)
		}
	})
}

func muxOnShelf() types.NamespacedName { return types.NamespacedName{Namespace: "infra", Name: "mux"} }

// shelf is a cluster: a cache, a live reader and a writer.
type shelf struct {
	*takeover
	client.Writer
	services []*corev1.Service
	slices   []*discoveryv1.EndpointSlice
	left     *corev1.Endpoints //nolint:staticcheck // deprecated, and what the original writes
	indexes  map[string]client.IndexerFunc
	asked    []string
}

//nolint:staticcheck // as above
func newShelf(t *testing.T, language validation.Language, mux *corev1.Service, left *corev1.Endpoints, claimed []string,
	beside uint8) *shelf {
	t.Helper()
	key, channel := muxOnShelf(), types.NamespacedName{Namespace: "app", Name: "web"}
	mux.Namespace, mux.Name, mux.UID = key.Namespace, key.Name, "m"
	left.Namespace, left.Name = key.Namespace, key.Name
	s := &shelf{services: []*corev1.Service{mux}, left: left, indexes: map[string]client.IndexerFunc{}}
	if err := Index(t.Context(), s, language); err != nil {
		t.Fatal(err)
	}
	source := sourceOf("web-1")
	source.Ports = nil
	var claims []plan.Claim
	for i, name := range claimed {
		port := fmt.Sprintf("port-%d", i)
		source.Ports = append(source.Ports, discoveryv1.EndpointPort{Name: &port, Port: new(int32(8080))})
		claims = append(claims,
			plan.Claim{Owner: plan.PortID{Channel: channel, Name: port, Protocol: corev1.ProtocolTCP}, MuxName: name})
	}
	if beside&attaches != 0 {
		class := language.FormatClass(key)
		s.services = append(s.services, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: channel.Namespace, Name: channel.Name},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class},
		})
		s.slices = append(s.slices, source)
	}
	l := newLine(Options{Language: language, Writer: s, Live: s, LooksAfter: func(types.NamespacedName) bool {
		return true
	},
		Claims: func(of, on types.NamespacedName) ([]plan.Claim, bool) {
			if of != channel || on != key {
				return nil, beside&decides != 0
			}
			return claims, beside&decides != 0
		}}, s)
	s.takeover = &takeover{l, map[types.NamespacedName]types.UID{}}
	if beside&stands != 0 {
		s.carryOut(t, channel)
	}
	return s
}

func (s *shelf) carryOut(t *testing.T, channel types.NamespacedName) {
	t.Helper()
	view, err := s.observe(t.Context(), channel)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range project.Decide(view.View).Steps {
		s.slices = append(s.slices, step.Slice)
	}
}

func (s *shelf) labelled() bool {
	return s.left.Labels["endpointslice.kubernetes.io/skip-mirror"] == "true"
}

// mayLetGo returns whether the takeover must remove the Endpoints now, and whether it must remove them now or later.
func (s *shelf) mayLetGo(beside uint8, claimed string) (may, waits bool) {
	mux := s.services[0]
	if !s.mux(mux).IsMux || s.left.Labels["app.kubernetes.io/managed-by"] != "svc-lb-mux" ||
		s.left.Annotations["svc-mux.nowake.ai/managed"] != "true" {
		return false, false
	}
	if s.labelled() {
		return true, true
	}
	if beside&decides == 0 || beside&attaches != 0 && beside&stands == 0 {
		return false, true
	}
	ours := map[string]bool{}
	if beside&attaches != 0 {
		for name := range strings.SplitSeq(claimed, ",") {
			ours[name] = true
		}
	}
	for _, subset := range s.left.Subsets {
		for _, port := range subset.Ports {
			needed := func(p corev1.ServicePort) bool { return p.Name == port.Name && !ours[p.Name] }
			if len(subset.Addresses) > 0 && slices.ContainsFunc(mux.Spec.Ports, needed) {
				return false, true
			}
		}
	}
	return true, true
}

func (s *shelf) IndexField(_ context.Context, _ client.Object, field string, of client.IndexerFunc) error {
	s.indexes[field] = of
	return nil
}

func (s *shelf) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	has := func(o client.Object) bool { return client.ObjectKeyFromObject(o) == key }
	switch object := object.(type) {
	case *corev1.Service:
		if i := slices.IndexFunc(s.services, func(o *corev1.Service) bool { return has(o) }); i >= 0 {
			*object = *s.services[i]
			return nil
		}
	case *discoveryv1.EndpointSlice:
		if i := slices.IndexFunc(s.slices, func(o *discoveryv1.EndpointSlice) bool { return has(o) }); i >= 0 {
			*object = *s.slices[i]
			return nil
		}
	case *corev1.Endpoints: //nolint:staticcheck // as above
		if s.left != nil && has(s.left) {
			s.left.DeepCopyInto(object)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.String())
}

func (s *shelf) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(options)
	by := o.FieldSelector.Requirements()[0]
	listed := func(object client.Object) bool {
		return (o.Namespace == "" || o.Namespace == object.GetNamespace()) &&
			slices.Contains(s.indexes[by.Field](object), by.Value)
	}
	switch list := list.(type) {
	case *corev1.ServiceList:
		for _, svc := range s.services {
			if listed(svc) {
				list.Items = append(list.Items, *svc)
			}
		}
	case *discoveryv1.EndpointSliceList:
		for _, slice := range s.slices {
			if listed(slice) {
				list.Items = append(list.Items, *slice)
			}
		}
	}
	return nil
}

func (s *shelf) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	s.asked = append(s.asked, "patch "+string(data))
	s.left.Labels[discoveryv1.LabelSkipMirror] = "true"
	s.left.ResourceVersion += "0"
	return nil
}

func (s *shelf) Delete(_ context.Context, _ client.Object, options ...client.DeleteOption) error {
	o := (&client.DeleteOptions{}).ApplyOptions(options)
	s.asked = append(s.asked, "delete "+string(*o.Preconditions.UID))
	s.left = nil
	return nil
}
