package backends

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
)

// TestASliceStaysWhose: one that was in place for a channel isn't another's because somebody changed its labels, for as
// long as that channel knows of it.
func TestASliceStaysWhose(t *testing.T) {
	m := newMemory()
	web, other := types.NamespacedName{Namespace: "app", Name: "web"}, types.NamespacedName{Namespace: "app", Name: "other"}
	slice := types.NamespacedName{Namespace: "svc-mux", Name: "mux-1"}
	is := func(ofWeb, ofOther bool) {
		t.Helper()
		if m.isAnothers(slice, web) != ofWeb || m.isAnothers(slice, other) != ofOther {
			t.Errorf("another's than web's: %t, than other's: %t", m.isAnothers(slice, web), m.isAnothers(slice, other))
		}
	}
	is(false, false)
	m.set(web, marks{slice: muxslices.Mark{Source: "1"}})
	is(false, true)
	m.set(other, marks{})
	is(false, true)
	m.set(web, m.of(web))
	is(false, true)
	m.set(web, nil)
	is(false, false)
	if len(m.marks)+len(m.owners) > 0 {
		t.Errorf("it remembers %v and %v", m.marks, m.owners)
	}
}
