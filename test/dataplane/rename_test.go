package dataplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// renamePorts renames the ports of the channel "moving" three times, and waits each time until the mux follows.
func (w *world) renamePorts(t *testing.T) {
	for i := range 3 {
		web, dns := fmt.Sprintf("web-%d", i), fmt.Sprintf("dns-%d", i)
		w.rename(t, web, dns)
		w.awaitNames(t, web, dns)
	}
}

// renameWhilePaused renames the ports while the mux is paused, and then rolls the Deployment: the mux follows the
// endpoints of the renamed ports too.
func (w *world) renameWhilePaused(t *testing.T) {
	before := w.ports(t, shop, "moving")
	w.Kubectl(t, "annotate", "service", "busy", "--namespace="+edge, prefix+"/disabled=true")
	cluster.Eventually(t, "the mux is paused", func(ctx context.Context) error {
		events, err := w.Client.CoreV1().Events(edge).List(ctx,
			metav1.ListOptions{FieldSelector: "involvedObject.name=busy,reason=MuxPaused"})
		if err == nil && len(events.Items) == 0 {
			err = errors.New("no Event says that the mux is paused")
		}
		return err
	})
	w.rename(t, "paused-web", "paused-dns")
	w.roll(t)
	for name := range before {
		if _, has := w.ports(t, shop, "moving")[name]; !has {
			t.Errorf("the mux is paused, but the port %s of its channel was renamed: %v", name, w.ports(t, shop, "moving"))
		}
	}
	w.Kubectl(t, "annotate", "service", "busy", "--namespace="+edge, prefix+"/disabled-")
	w.awaitNames(t, "paused-web", "paused-dns")
}

// rename gives both ports of the channel "moving" other names, in spec.ports and external-ports at once: the webhook
// denies a change of one of them alone. rename returns when all EndpointSlices of the channel have the new names.
func (w *world) rename(t *testing.T, tcp, udp string) {
	t.Helper()
	renamed := channel("moving", "busy", "moving", tcp+":auto,"+udp+":auto", bothNamed(tcp, udp)...)
	// A server-side apply distinguishes two ports with one number by their protocol.
	if _, err := w.TryKubectl(t.Context(), renamed, "apply", "--server-side", "--force-conflicts",
		"--filename=-"); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "all slices of the channel have the new names", func(ctx context.Context) error {
		list, err := w.Client.DiscoveryV1().EndpointSlices(shop).List(ctx,
			metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=moving"})
		if err != nil {
			return err
		}
		for i := range list.Items {
			for _, port := range list.Items[i].Ports {
				if !slices.Contains([]string{tcp, udp}, ptr.Deref(port.Name, "")) {
					return fmt.Errorf("%s has %s", list.Items[i].Name, ptr.Deref(port.Name, ""))
				}
			}
		}
		return nil
	})
}

// awaitNames waits until the channel "moving" has its public number under the new names. The streams fail if the number
// changes.
func (w *world) awaitNames(t *testing.T, tcp, udp string) {
	t.Helper()
	cluster.Eventually(t, "the mux follows the new names", func(context.Context) error {
		ports := w.ports(t, shop, "moving")
		if ports[tcp] == 0 || ports[tcp] != ports[udp] {
			return fmt.Errorf("the channel has %v", ports)
		}
		return nil
	})
}
