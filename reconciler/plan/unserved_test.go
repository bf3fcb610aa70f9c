package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// TestUnserved tells a channel whom nobody else tells anything, and again only what is its own and no longer so.
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
		ours    bool // that it goes with us
	}{
		"one that nobody said anything to":   {channel(), true, false},
		"one that was told":                  {toldBy(we), false, true},
		"one that was told by us as we were": {toldBy(before), true, true},
		"one that another told the same":     {toldBy(others), false, false},
		"one that another looks after":       {accepted("Accepted"), false, false},
		"one that another, unnamed, doesn't": {accepted("MuxNotServed"), false, false},
		"one that is being deleted":          {leaving, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			patch := plan.Unserved(keys, test.channel, mux, we, now)
			if (patch != nil) != test.want {
				t.Fatalf("it is told %+v", patch)
			}
			if back := plan.NoLongerUnserved(keys, test.channel, we); (back != nil) != test.ours || back != nil && len(back.Drop) != 2 {
				t.Errorf("what is taken back is %+v", back)
			}
			if patch == nil {
				return
			}
			const message = "the reconciler svc-mux/lease looks after muxes in infra, svc-mux alone, and the mux edge/mux isn't there: " +
				"make the Service anew under a mux that is, or have that reconciler look after namespace edge too " +
				"(rbac.muxNamespaces of the chart, --mux-namespaces)"
			if diff := cmp.Diff(message, patch.Conditions[0].Message); diff != "" {
				t.Error(diff)
			}
			if len(patch.Events) != 1 || patch.Events[0].Message != message || patch.ResourceVersion != "17" {
				t.Errorf("it is told with %+v at %s", patch.Events, patch.ResourceVersion)
			}
			since := now
			if len(test.channel.Conditions) > 0 {
				since = since.Add(-time.Hour) // it was so before
			}
			if at := patch.Conditions[0].LastTransitionTime; !at.Time.Equal(since) || !strings.HasSuffix(patch.Conditions[1].Type, "Programmed") {
				t.Errorf("it is so since %s", at)
			}
		})
	}
}
