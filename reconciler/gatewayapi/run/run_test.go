package run

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestMissingKindsAreThoseOfOlderReleases has CRDs of several releases of the Gateway API.
func TestMissingKindsAreThoseOfOlderReleases(t *testing.T) {
	for name, c := range map[string]struct {
		version string
		kinds   []string
		missing string
	}{
		"none are installed": {"gateway.networking.k8s.io/v1beta1", []string{"Gateway"},
			"GatewayClass, Gateway, ListenerSet, TCPRoute, UDPRoute, ReferenceGrant"},
		"a release before ListenerSets": {"gateway.networking.k8s.io/v1",
			[]string{"Gateway", "GatewayClass", "HTTPRoute"}, "ListenerSet, TCPRoute, UDPRoute, ReferenceGrant"},
		"a release before routes of layer 4": {"gateway.networking.k8s.io/v1", []string{"Gateway", "ListenerSet"},
			"GatewayClass, TCPRoute, UDPRoute, ReferenceGrant"},
		"without UDPRoutes": {"gateway.networking.k8s.io/v1",
			[]string{"Gateway", "ListenerSet", "TCPRoute"}, "GatewayClass, UDPRoute, ReferenceGrant"},
		"all": {"gateway.networking.k8s.io/v1",
			[]string{"UDPRoute", "TCPRoute", "ListenerSet", "Gateway", "GatewayClass", "ReferenceGrant"}, ""},
		"routes without a Gateway": {"gateway.networking.k8s.io/v1",
			[]string{"UDPRoute", "TCPRoute", "ListenerSet"}, "GatewayClass, Gateway, ReferenceGrant"},
		"kinds are listed with their statuses": {"gateway.networking.k8s.io/v1",
			[]string{"Gateway", "ListenerSet", "TCPRoute/status"}, "GatewayClass, TCPRoute, UDPRoute, ReferenceGrant"},
	} {
		t.Run(name, func(t *testing.T) {
			list := &metav1.APIResourceList{GroupVersion: c.version}
			for _, kind := range c.kinds {
				list.APIResources = append(list.APIResources, metav1.APIResource{Name: kind, Kind: kind})
			}
			client := &fake.FakeDiscovery{Fake: &clienttesting.Fake{Resources: []*metav1.APIResourceList{list}}}
			got, err := served(t.Context(), client)
			if err != nil {
				t.Fatal(err)
			}
			if got.missing() != c.missing {
				t.Errorf("missing %q", got.missing())
			}
		})
	}
}
