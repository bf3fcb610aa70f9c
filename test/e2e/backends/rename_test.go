package backends

import (
	"context"
	"fmt"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// renamedPort gives the new name to the claim and to the channel's slices at different times, in either order. A frozen
// mux keeps the claim's name.
func renamedPort(t *testing.T, w world) {
	r := w.run(t)
	w.mux(t, "rename", "aaaa")
	w.channel(t, "rename", "rename", "http")
	r.board.set("rename", "rename", "http=aaaa")
	w.source(t, "rename", "rename", []string{"http:8080"}, []string{"10.0.0.1", "10.0.0.2"})
	w.carries(t, "rename", "aaaa 8080: 10.0.0.1 10.0.0.2")
	slice := w.one(t, "rename").UID
	for _, step := range []struct {
		name   string
		do     func()
		writes string
	}{
		{"the claim is first", func() { r.board.set("rename", "rename", "web=aaaa") }, ""},
		{"the slices follow",
			func() { w.source(t, "rename", "rename", []string{"web:8080"}, []string{"10.0.0.1", "10.0.0.2"}) }, ""},
		{"the slices are first",
			func() { w.source(t, "rename", "rename", []string{"api:8080"}, []string{"10.0.0.1", "10.0.0.2"}) }, ""},
		{"a pod turns unready meanwhile", func() {
			w.source(t, "rename", "rename", []string{"api:8080"}, []string{"10.0.0.1", "10.0.0.2-"})
			w.carries(t, "rename", "aaaa 8080: 10.0.0.1 10.0.0.2-")
		}, "1 patch endpointslices"},
		{"the claim follows", func() { r.board.set("rename", "rename", "api=aaaa") }, ""},
	} {
		if got := r.costs(t, step.do); got != step.writes {
			t.Errorf("%s: the writes are %q", step.name, got)
		}
		if now := w.one(t, "rename"); now.UID != slice || len(now.Ports) != 1 || *now.Ports[0].Name != "aaaa" {
			t.Fatalf("%s: the slice is %s", step.name, text(now))
		}
	}
}

// forgedSlices writes slices with our labels that the mux doesn't own. They must wake no channel. On the mux they are
// deleted; in another namespace they are left to their owner.
func forgedSlices(t *testing.T, w world) {
	r := w.run(t)
	w.mux(t, "forged", "aaaa")
	w.channel(t, "forged", "forged", "http")
	r.board.set("forged", "forged", "http=aaaa")
	w.source(t, "forged", "forged", []string{"http:8080"}, []string{"10.0.0.1"})
	w.carries(t, "forged", "aaaa 8080: 10.0.0.1")
	for i := range 3 {
		for _, namespace := range []string{muxes, app} {
			w.forge(t, namespace, fmt.Sprintf("forged-by-somebody-%d", i))
		}
	}
	w.carries(t, "forged", "aaaa 8080: 10.0.0.1")
	w.source(t, "forged", "forged", []string{"http:8080"}, []string{"10.0.0.2"})
	w.carries(t, "forged", "aaaa 8080: 10.0.0.2")
	for i := range 3 {
		if _, err := w.Client.DiscoveryV1().EndpointSlices(app).
			Get(t.Context(), fmt.Sprintf("forged-by-somebody-%d", i), metav1.GetOptions{}); err != nil {
			t.Errorf("reading a slice in another namespace: %v", err)
		}
	}
	// If the channel's own slice loses its owner, the owner is restored.
	own := w.one(t, "forged")
	w.edit(t, own.Name, `{"metadata":{"ownerReferences":null}}`)
	cluster.Eventually(t, "the mux owns its slice again", func(ctx context.Context) error {
		now, err := w.Client.DiscoveryV1().EndpointSlices(muxes).Get(ctx, own.Name, metav1.GetOptions{})
		if err == nil && len(project.OwnersOfSlice(now)) != 1 {
			err = fmt.Errorf("the slice has %d owners", len(project.OwnersOfSlice(now)))
		}
		if err == nil && now.UID != own.UID {
			t.Errorf("the slice was replaced")
		}
		return err
	})
}

// forge writes a slice with our labels for the channel app/forged. It has no owner, so Kubernetes doesn't
// garbage-collect it.
func (w world) forge(t *testing.T, namespace, name string) {
	t.Helper()
	slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: endpointsOf([]string{"192.0.2.66"}),
		ObjectMeta: metav1.ObjectMeta{Name: name,
			Annotations: map[string]string{prefix + "/managed": "true", prefix + "/mux": namespace + "/forged"},
			Labels: map[string]string{discoveryv1.LabelServiceName: "forged", discoveryv1.LabelManagedBy: prefix,
				prefix + "/channel-namespace": app, prefix + "/channel-name": "forged", prefix + "/source": "forged"}}}
	if _, err := w.Client.DiscoveryV1().EndpointSlices(namespace).
		Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
