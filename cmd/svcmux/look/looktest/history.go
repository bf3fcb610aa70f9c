package looktest

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"nowake.ai/svc-lb-mux/validation"
)

// Empty returns a cluster without objects, for histories that a test makes up.
func Empty(t testing.TB) *Cluster {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	return &Cluster{t: t, language: language, objects: map[key]map[string]any{}, now: Now(), step: time.Second}
}

// Copy returns a copy that changes on its own.
func (c *Cluster) Copy() *Cluster {
	copied := *c
	copied.order, copied.objects = slices.Clone(c.order), map[key]map[string]any{}
	for at, object := range c.objects {
		copied.objects[at] = runtime.DeepCopyJSON(object)
	}
	return &copied
}

// Apply changes objects as people do: documents are merge patches. The reconciler doesn't see them yet.
func (c *Cluster) Apply(documents string) { c.apply(documents) }

// Reconcile lets the reconciler work until nothing is left to do.
func (c *Cluster) Reconcile() { c.reconcile() }

// Wait lets time pass. The reconciler doesn't work meanwhile.
func (c *Cluster) Wait(d time.Duration) { c.now = c.now.Add(d) }

// Time is the time in the cluster.
func (c *Cluster) Time() time.Time { return c.now }
