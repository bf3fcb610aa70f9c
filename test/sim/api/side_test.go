package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// request can be sent to either server. Its resource version is a word, which each side looks up.
type request struct {
	what    string
	verb    string
	place   string // suffix of the namespace's name
	object  client.Object
	patch   map[string]any
	how     types.PatchType
	version string // "now", "old" or none
	uid     string // "own", "other" or none
	list    listing
}

// answer is the part of a result that must be equal on both servers.
type answer struct {
	reason  string
	object  string
	changed bool
}

// side is a server, and what the test has seen of it.
type side struct {
	client.Client
	t         *testing.T
	namespace string
	seen      map[string][]string // versions of each object
	uids      map[string]types.UID
	listed    []string // versions of lists
	words     string
}

func newSide(t *testing.T, c client.Client, namespace string) *side {
	return &side{Client: c, t: t, namespace: namespace, seen: map[string][]string{}, uids: map[string]types.UID{}}
}

func (s *side) ask(r request) answer {
	if r.verb == "list" {
		return s.askList(r.list)
	}
	obj := r.object.DeepCopyObject().(client.Object)
	obj.SetNamespace(s.namespace + r.place)
	obj.SetLabels(s.labelled(obj.GetLabels()))
	name := fmt.Sprintf("%T %s", obj, client.ObjectKeyFromObject(obj))
	before := s.get(obj)
	s.wait(before)
	err := s.put(r, obj, name)
	after := s.get(obj)
	s.words = fmt.Sprint(err)
	a := answer{reason: reason(err)}
	if after != nil {
		a.object = plain(after)
		s.uids[name] = after.GetUID()
		if versions := s.seen[name]; len(versions) == 0 || versions[len(versions)-1] != after.GetResourceVersion() {
			s.seen[name] = append(versions, after.GetResourceVersion())
		}
	}
	a.changed = (before == nil) != (after == nil) || before != nil &&
		before.GetResourceVersion() != after.GetResourceVersion()
	return a
}

func (s *side) put(r request, obj client.Object, name string) error {
	version, uid := s.version(r.version, name), s.uid(r.uid, name)
	ctx := s.t.Context()
	switch r.verb {
	case "create":
		return s.Create(ctx, obj)
	case "update", "update/status":
		is := s.get(obj)
		if is != nil {
			obj = edited(is, obj)
		}
		obj.SetResourceVersion(version)
		if uid != "" {
			obj.SetUID(uid)
		}
		// A PUT to the status of a missing Service would create a Service without an address. The product never sends
		// one.
		if r.verb == "update" || is == nil {
			return s.Update(ctx, obj)
		}
		return s.Status().Update(ctx, obj)
	case "delete":
		var only client.Preconditions
		if version != "" {
			only.ResourceVersion = &version
		}
		if uid != "" {
			only.UID = &uid
		}
		return s.Delete(ctx, obj, only)
	}
	return s.change(ctx, r, obj, version, uid)
}

func (s *side) change(ctx context.Context, r request, obj client.Object, version string, uid types.UID) error {
	body := maps.Clone(r.patch)
	metadata := map[string]any{}
	if given, is := body["metadata"].(map[string]any); is {
		metadata = maps.Clone(given)
	}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	if uid != "" {
		metadata["uid"] = uid
	}
	body["metadata"] = metadata
	// Writing [] to a slice without endpoints is a write on a real server, although it changes nothing. We send only
	// differences.
	if slice, is := s.get(obj).(*discoveryv1.EndpointSlice); is && len(slice.Endpoints) == 0 &&
		fmt.Sprint(body["endpoints"]) == "[]" {
		delete(body, "endpoints")
	}
	data, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	if r.verb == "patch/status" {
		return s.Status().Patch(ctx, obj, client.RawPatch(r.how, data))
	}
	return s.Patch(ctx, obj, client.RawPatch(r.how, data))
}

// labelled adds a label that distinguishes a sequence's objects in lists of all namespaces.
func (s *side) labelled(with map[string]string) map[string]string {
	with = maps.Clone(with)
	with["sequence"] = s.namespace
	return with
}

func (s *side) version(which, name string) string {
	versions := s.seen[name]
	switch {
	case which == "" || len(versions) == 0:
		return ""
	case which == "old":
		return versions[0]
	}
	return versions[len(versions)-1]
}

func (s *side) uid(which, name string) types.UID {
	switch which {
	case "own":
		return s.uids[name]
	case "other":
		return "11111111-2222-3333-4444-555555555555"
	}
	return ""
}

func (s *side) get(obj client.Object) client.Object {
	is := obj.DeepCopyObject().(client.Object)
	if err := s.Get(s.t.Context(), client.ObjectKeyFromObject(obj), is); err != nil {
		return nil
	}
	return is
}

// wait ensures that the real server's cache has the current object. The server tries a write on the cached object
// first, and allocates node ports. If the cached object is stale, it tries again, and then finds those node ports
// taken.
func (s *side) wait(is client.Object) {
	if is == nil {
		return
	}
	cached := client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: is.GetResourceVersion()}}
	obj := is.DeepCopyObject().(client.Object)
	if err := s.Get(s.t.Context(), client.ObjectKeyFromObject(obj), obj, &cached); err != nil {
		s.t.Fatal(err)
	}
}

// edited returns the current object with the fields that an edit sets.
func edited(is, edit client.Object) client.Object {
	is.SetLabels(edit.GetLabels())
	is.SetAnnotations(edit.GetAnnotations())
	is.SetFinalizers(edit.GetFinalizers())
	switch e := edit.(type) {
	case *corev1.Service:
		svc := is.(*corev1.Service)
		svc.Spec.Ports, svc.Spec.Type, svc.Spec.Selector = e.Spec.Ports, e.Spec.Type, e.Spec.Selector
		svc.Status = e.Status
	case *corev1.ConfigMap:
		is.(*corev1.ConfigMap).Data = e.Data
	case *discoveryv1.EndpointSlice:
		slice := is.(*discoveryv1.EndpointSlice)
		slice.Endpoints, slice.Ports = e.Endpoints, e.Ports
	}
	return is
}

func reason(err error) string {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return ""
	case errors.As(err, &status):
		return string(status.Status().Reason)
	}
	return err.Error()
}

// plain formats an object without the values that differ between servers. It replaces node ports by their order of
// appearance, and addresses by a constant.
func plain(obj client.Object) string {
	obj = obj.DeepCopyObject().(client.Object)
	deleting := obj.GetDeletionTimestamp() != nil
	obj.SetUID("")
	obj.SetResourceVersion("")
	obj.SetCreationTimestamp(metav1.Time{})
	obj.SetManagedFields(nil)
	if deleting {
		obj.SetDeletionTimestamp(&metav1.Time{})
	}
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	switch o := obj.(type) {
	case *corev1.Service:
		plainService(o)
	case *discoveryv1.EndpointSlice:
		if len(o.Endpoints) == 0 {
			o.Endpoints = nil // nil and empty are equal
		}
	}
	text, err := json.Marshal(obj)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s deleting=%t", text, deleting)
}

func plainService(svc *corev1.Service) {
	if svc.Spec.ClusterIP != "" {
		svc.Spec.ClusterIP = "given"
	}
	for i := range svc.Spec.ClusterIPs {
		svc.Spec.ClusterIPs[i] = "given"
	}
	known := map[int32]int32{0: 0}
	for i := range svc.Spec.Ports {
		port := &svc.Spec.Ports[i]
		if _, is := known[port.NodePort]; !is {
			known[port.NodePort] = int32(len(known))
		}
		port.NodePort = known[port.NodePort]
	}
}
