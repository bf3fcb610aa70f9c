package backends

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

func drift(t *testing.T, w world) {
	r := w.run(t)
	for name, patch := range map[string]string{
		"drift-endpoints": `{"endpoints":[{"addresses":["10.6.6.6"]}]}`,
		"drift-ports":     `{"ports":[{"name":"aaaa","port":666,"protocol":"TCP"}]}`,
		"drift-service":   `{"metadata":{"labels":{"kubernetes.io/service-name":"other"}}}`,
		"drift-channel":   `{"metadata":{"labels":{"svc-mux.nowake.ai/channel-name":"other"}}}`,
		"drift-labels":    `{"metadata":{"labels":null,"annotations":{"svc-mux.nowake.ai/mux":"other/other"}}}`,
		"drift-managed":   `{"metadata":{"labels":{"endpointslice.kubernetes.io/managed-by":"me"}}}`,
		"drift-owners":    `{"metadata":{"ownerReferences":null}}`,
	} {
		t.Run(name, func(t *testing.T) {
			r.standing(t, name)
			r.quiet(t)
			before := w.one(t, name)
			w.edit(t, before.Name, patch)
			cluster.Eventually(t, "the slice is restored", func(ctx context.Context) error {
				now, err := w.Client.DiscoveryV1().EndpointSlices(muxes).Get(ctx, before.Name, metav1.GetOptions{})
				if err == nil && said(now) != said(before) {
					err = fmt.Errorf("the slice is %s, want %s", said(now), said(before))
				}
				return err
			})
			r.quiet(t)
			events := r.events(name)
			if len(events) != 1 || events[0].Reason != plan.MuxDriftCorrected ||
				!strings.Contains(events[0].Message, before.Name) {
				t.Errorf("want one Event, got %d: %+v", len(events), events)
			}
		})
	}
	t.Run("others' labels and annotations stay", func(t *testing.T) {
		r.standing(t, "drift-beside")
		if got := r.costs(t, func() {
			w.edit(t, w.one(t, "drift-beside").Name, `{"metadata":{"labels":{"team":"a"},"annotations":{"note":"b"}}}`)
		}); got != "" || w.one(t, "drift-beside").Labels["team"] != "a" {
			t.Errorf("others' labels cost %s", got)
		}
	})
}

// said returns the part of a slice that is ours.
func said(slice *discoveryv1.EndpointSlice) string {
	return fmt.Sprint(text(slice), slice.Labels, slice.Annotations, slice.OwnerReferences)
}

func deletedByHand(t *testing.T, w world) {
	r := w.run(t)
	r.standing(t, "by-hand")
	r.quiet(t)
	name := w.one(t, "by-hand").Name
	w.Kubectl(t, "delete", "endpointslice", "--namespace="+muxes, name)
	w.carries(t, "by-hand", "aaaa 8080: 10.0.0.1")
	if again := w.one(t, "by-hand").Name; again != name {
		t.Errorf("the slice was %s, and is now %s", name, again)
	}
	r.quiet(t)
	if events := r.events("by-hand"); len(events) != 1 || events[0].Reason != plan.MuxDriftCorrected {
		t.Errorf("events: %+v", events)
	}
}

// fights lets another writer undo corrections of a slice for six seconds.
func fights(t *testing.T, w world) {
	r := w.run(t)
	r.standing(t, "fight")
	r.quiet(t)
	name := w.one(t, "fight").Name
	before := r.proxy.Snapshot()
	for end := time.Now().Add(6 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		w.edit(t, name, `{"endpoints":[{"addresses":["10.6.6.6"]}]}`)
	}
	cost := r.proxy.Snapshot().Sub(before)
	if n := cost.Total(); n < 2 || n > 4 { // at 0, 1 and 3 seconds
		t.Errorf("the controller wrote %d times:\n%s", n, cost)
	}
	w.carries(t, "fight", "aaaa 8080: 10.0.0.1")
	if events := r.events("fight"); len(events) != 1 {
		t.Errorf("events: %+v", events)
	}
}

func notOurs(t *testing.T, w world) {
	name := project.SliceName(in(muxes, "taken"), in(app, "taken"), "taken", discoveryv1.AddressTypeIPv4)
	w.Apply(t, `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: `+name+`, namespace: svc-mux}
addressType: IPv4
ports: []
endpoints: []
`)
	r := w.run(t)
	w.mux(t, "taken", "aaaa")
	w.channel(t, "taken", "taken", "http")
	r.board.set("taken", "taken", "http=aaaa")
	if got := r.costs(t,
		func() { w.source(t, "taken", "taken", []string{"http:8080"}, []string{"10.0.0.1"}) }); got != "" {
		t.Errorf("a foreign slice costs %s", got)
	}
	r.board.set("taken", "taken", "http=bbbb")
	w.source(t, "taken", "taken-2", []string{"http:8080"}, []string{"10.0.0.2"})
	w.carries(t, "taken", "bbbb 8080: 10.0.0.2")
	r.quiet(t)
	events := r.events("taken")
	if len(events) != 1 || events[0].Reason != plan.SliceNameTaken || !strings.Contains(events[0].Message, name) {
		t.Errorf("events: %+v", events)
	}
	w.Kubectl(t, "delete", "endpointslice", "--namespace="+muxes, name)
	w.carries(t, "taken", "bbbb 8080: 10.0.0.1", "bbbb 8080: 10.0.0.2")
}
