package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// TestUnserved: a channel gets the conditions only if no other reconciler has written conditions.
func TestUnserved(t *testing.T) {
	keys, now := english(t).Keys(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	mux := types.NamespacedName{Namespace: "edge", Name: "mux"}
	we := plan.Server{Name: "svc-mux/lease", Namespaces: []string{"infra", "svc-mux"}}
	before := plan.Server{Name: we.Name, Namespaces: []string{"svc-mux"}}
	others := plan.Server{Name: "svc-mux/lease-2", Namespaces: []string{"else"}}
	channel := func() *plan.ObservedChannel {
		c := &plan.ObservedChannel{}
		c.Key, c.ResourceVersion = types.NamespacedName{Namespace: "app", Name: "web"}, "17"
		return c
	}
	toldBy := func(by plan.Server) *plan.ObservedChannel {
		c := channel()
		c.Conditions = plan.Unserved(keys, c, mux, by, now.Add(-time.Hour)).Conditions
		return c
	}
	accepted := func(reason string) *plan.ObservedChannel {
		c := channel()
		c.Conditions = []metav1.Condition{{Type: keys.Accepted, Status: metav1.ConditionTrue, Reason: reason}}
		return c
	}
	leaving := channel()
	leaving.Deleting = true
	for name, test := range map[string]struct {
		channel *plan.ObservedChannel
		want    bool
		ours    bool // NoLongerUnserved removes the conditions
	}{
		"a channel without conditions":                             {channel(), true, false},
		"a channel with our conditions":                            {toldBy(we), false, true},
		"a channel with our conditions for other namespaces":       {toldBy(before), true, true},
		"a channel with the same conditions of another reconciler": {toldBy(others), false, false},
		"a channel that another reconciler serves":                 {accepted("Accepted"), false, false},
		"a channel with conditions of an unnamed reconciler":       {accepted("MuxNotServed"), false, false},
		"a channel that is being deleted":                          {leaving, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			patch := plan.Unserved(keys, test.channel, mux, we, now)
			if (patch != nil) != test.want {
				t.Fatalf("got %+v", patch)
			}
			if back := plan.NoLongerUnserved(keys, test.channel, we); (back != nil) != test.ours || back != nil &&
				len(back.Drop) != 2 {
				t.Errorf("NoLongerUnserved returns %+v", back)
			}
			if patch == nil {
				return
			}
			const message = "the reconciler svc-mux/lease serves muxes in infra, svc-mux alone, not the mux edge/mux: " +
				"create the Service again under a mux that it serves, or have it serve namespace edge too " +
				"(rbac.muxNamespaces of the chart, --mux-namespaces)"
			if diff := cmp.Diff(message, patch.Conditions[0].Message); diff != "" {
				t.Error(diff)
			}
			if len(patch.Events) != 1 || patch.Events[0].Message != message || patch.ResourceVersion != "17" {
				t.Errorf("got Events %+v at version %s", patch.Events, patch.ResourceVersion)
			}
			since := now
			if len(test.channel.Conditions) > 0 {
				since = since.Add(-time.Hour) // the status is the same as before
			}
			if at := patch.Conditions[0].LastTransitionTime; !at.Time.Equal(since) ||
				!strings.HasSuffix(patch.Conditions[1].Type, "Programmed") {
				t.Errorf("last transition %s", at)
			}
		})
	}
}
