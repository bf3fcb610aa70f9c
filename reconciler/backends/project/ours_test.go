package project_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
)

// TestRecordsOf: after the loss of a ledger, our slices tell whose a port is. So a port name must have one channel.
func TestRecordsOf(t *testing.T) {
	k := keys(t)
	slice := func(channel, by string, ports ...string) *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{discoveryv1.LabelManagedBy: by,
				k.ChannelNamespace: "app", k.ChannelName: channel}}}
		for _, port := range ports {
			s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: &port})
		}
		return s
	}
	ours := project.ManagedBy(k)
	got := project.RecordsOf(k, []*discoveryv1.EndpointSlice{
		slice("web", ours, "aaaa", "bbbb"), slice("web", ours, "aaaa"), slice("api", ours, "cccc", "bbbb"), slice("web", ours,
			"bbbb"),
		slice("other", "somebody", "dddd"), slice("", ours, "eeee"),
	})
	names := map[string]string{}
	for port, channel := range got {
		names[port] = channel.Name
	}
	if diff := cmp.Diff(map[string]string{"aaaa": "web", "cccc": "api"}, names); diff != "" {
		t.Error(diff)
	}
}
