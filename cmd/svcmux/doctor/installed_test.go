package doctor

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
)

// TestLeaseHasSlackForOtherClocks has leaders with a Lease of 5 s.
func TestLeaseHasSlackForOtherClocks(t *testing.T) {
	for name, tc := range map[string]struct {
		age  time.Duration
		want Check
	}{
		"a clock that is behind by 2 s": {-2 * time.Second, Check{"leader", OK, "svc-mux-5d9_1 leads", ""}},
		"a clock that is ahead by 2 s":  {7 * time.Second, Check{"leader", OK, "svc-mux-5d9_1 leads", ""}},
		"a leader that died": {11 * time.Second, Check{
			"leader", Failure, "svc-mux-5d9_1 holds the Lease svc-mux/svc-lb-mux-reconciler, and last renewed it 11s ago",
			"read the log of the reconciler",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := looktest.Load(t, looktest.Worlds+"/installed.yaml")
			c.Apply(
				fmt.Sprintf("kind: Lease\nmetadata: {namespace: svc-mux, name: svc-lb-mux-reconciler}\nspec: {renewTime: %q}\n",
					looktest.Now().Add(-tc.age).Format("2006-01-02T15:04:05.000000Z07:00")))
			kubeconfig, _ := c.Serve(t)
			if got := reportOf(t, looktest.RunAt(t, command, kubeconfig, "", "-o", "json").Out); !slices.Contains(got.Checks,
				tc.want) {
				t.Errorf("got %+v\nwant %+v", got.Checks, tc.want)
			}
		})
	}
}
