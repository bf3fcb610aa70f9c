package backends

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/validation"
)

// drained is a cluster with slices and one Endpoints object. Answers are by the slice's name.
type drained struct {
	client.Client
	slices    []discoveryv1.EndpointSlice
	endpoints *corev1.Endpoints //nolint:staticcheck // deprecated, and the original writes them
	answers   map[string]error
	asked     []string
}

func (d *drained) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*discoveryv1.EndpointSliceList).Items = d.slices
	return d.answers["list"]
}

func (d *drained) Delete(_ context.Context, object client.Object, options ...client.DeleteOption) error {
	o := (&client.DeleteOptions{}).ApplyOptions(options)
	d.asked = append(d.asked, "delete "+object.GetName()+" "+string(*o.Preconditions.UID))
	return d.answers[object.GetName()]
}

func (d *drained) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if err := d.answers["get"]; err != nil {
		return err
	}
	if d.endpoints == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, "mux")
	}
	d.endpoints.DeepCopyInto(into.(*corev1.Endpoints)) //nolint:staticcheck // as above
	return nil
}

func newDrained(t *testing.T) (*drained, *Drained) {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	keys := language.Keys()
	cluster := &drained{answers: map[string]error{}}
	for _, name := range []string{"a", "b", "foreign"} {
		slice := discoveryv1.EndpointSlice{ObjectMeta: objectMeta("svc-mux", name)}
		slice.UID, slice.Labels = "uid", map[string]string{discoveryv1.LabelServiceName: "mux"}
		if name != "foreign" {
			slice.Annotations = map[string]string{keys.Managed: "true"}
		}
		cluster.slices = append(cluster.slices, slice)
	}
	yes := func(types.NamespacedName) bool { return true }
	return cluster, &Drained{Keys: keys, Cache: cluster, Live: cluster, Writer: cluster, Ready: yes, Ours: yes}
}

func TestDrainedSlices(t *testing.T) {
	resource, lost := schema.GroupResource{Resource: "endpointslices"}, errors.New("the connection was lost")
	forbidden := apierrors.NewForbidden(resource, "a", errors.New("no rights"))
	no := func(types.NamespacedName) bool { return false }
	for name, test := range map[string]struct {
		change func(*drained, *Drained)
		asked  int
		gone   int
		err    error
	}{
		"all":       {func(*drained, *Drained) {}, 2, 2, nil},
		"not ready": {func(_ *drained, d *Drained) { d.Ready = no }, 0, 0, nil},
		"a dry run": {func(_ *drained, d *Drained) { d.Would = func(*discoveryv1.EndpointSlice) {} }, 0, 0,
			nil},
		"one is gone": {func(c *drained, _ *Drained) {
			c.answers["a"] = apierrors.NewNotFound(resource, "a")
		}, 2, 1, nil},
		"no rights on our mux":         {func(c *drained, _ *Drained) { c.answers["a"] = forbidden }, 1, 0, forbidden},
		"no rights on another Service": {func(c *drained, d *Drained) { c.answers["a"] = forbidden; d.Ours = no }, 2, 1, nil},
		"a lost connection":            {func(c *drained, d *Drained) { c.answers["a"] = lost; d.Ours = no }, 1, 0, lost},
		"no list":                      {func(c *drained, _ *Drained) { c.answers["list"] = lost }, 0, 0, lost},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, d := newDrained(t)
			test.change(cluster, d)
			gone, err := d.Slices(t.Context())
			if !errors.Is(err, test.err) || gone[types.NamespacedName{Namespace: "svc-mux", Name: "mux"}] != test.gone ||
				len(cluster.asked) != test.asked {
				t.Errorf("gone %v, asked %q, %v", gone, cluster.asked, err)
			}
			if slices.Contains(cluster.asked, "delete foreign uid") {
				t.Error("a foreign slice is deleted")
			}
		})
	}
}

//nolint:staticcheck // as above
func TestDrainedEndpoints(t *testing.T) {
	lost := errors.New("the connection was lost")
	for name, test := range map[string]struct {
		change func(*drained)
		asked  bool
		err    error
	}{
		"ours":              {func(*drained) {}, true, nil},
		"none":              {func(c *drained) { c.endpoints = nil }, false, nil},
		"without the label": {func(c *drained) { c.endpoints.Labels = nil }, false, nil},
		"without the note":  {func(c *drained) { c.endpoints.Annotations = nil }, false, nil},
		"gone meanwhile": {func(c *drained) { c.answers["mux"] = apierrors.NewNotFound(schema.GroupResource{}, "mux") },
			true, nil},
		"a lost connection": {func(c *drained) { c.answers["mux"] = lost }, true, lost},
		"it can't be read":  {func(c *drained) { c.answers["get"] = lost }, false, lost},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, d := newDrained(t)
			cluster.endpoints = &corev1.Endpoints{ObjectMeta: objectMeta("svc-mux", "mux")}
			cluster.endpoints.UID = "endpoints-uid"
			cluster.endpoints.Labels = map[string]string{"app.kubernetes.io/managed-by": "svc-lb-mux"}
			cluster.endpoints.Annotations = map[string]string{d.Keys.Managed: "true"}
			test.change(cluster)
			err := d.Endpoints(t.Context(), types.NamespacedName{Namespace: "svc-mux", Name: "mux"})
			if !errors.Is(err, test.err) {
				t.Errorf("the error is %v", err)
			}
			var want []string
			if test.asked {
				want = []string{"delete mux endpoints-uid"}
			}
			if diff := cmp.Diff(want, cluster.asked); diff != "" {
				t.Error(diff)
			}
		})
	}
}
