package status

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
)

// TestListenersCountByTheirBackends gives one of two listeners a backend on the mux. Listeners have no condition about
// backends, unlike Services: the EndpointSlices on the mux tell. A user who may not read these sees no listener counted
// as one without backends.
func TestListenersCountByTheirBackends(t *testing.T) {
	for name, tc := range map[string]struct {
		forbidden []string
		want      map[string]int
	}{
		"with all rights": {nil, map[string]int{"programmed": 1, "unbacked": 2, "refused": 2}},
		"without the slices on the mux": {[]string{"endpointslices/infra"},
			map[string]int{"programmed": 2, "unbacked": 1, "refused": 2}},
		"without the slices of elsewhere": {[]string{"endpointslices", "endpointslices/shop"},
			map[string]int{"programmed": 1, "unbacked": 2, "refused": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			c := looktest.Load(t, looktest.Worlds+"/listeners.yaml")
			c.Apply(looktest.BackedListener)
			kubeconfig, server := c.Serve(t)
			server.Forbidden = tc.forbidden
			var got struct {
				Items []struct{ Counts map[string]int }
			}
			out := looktest.RunAt(t, Command, kubeconfig, "", "-o", "json")
			if err := json.Unmarshal([]byte(out.Out), &got); err != nil || len(got.Items) != 1 {
				t.Fatalf("%v: %+v", err, out)
			}
			if diff := cmp.Diff(tc.want, got.Items[0].Counts); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
