package backends

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestObjectsWithoutAValueAreNotIndexed(t *testing.T) {
	for name, tc := range map[string]struct {
		is    bool
		value string
		want  []string
	}{
		"a channel":      {true, "svc-mux/mux", []string{"svc-mux/mux"}},
		"another object": {false, "/", nil},
		"no value":       {true, "", nil},
	} {
		if diff := cmp.Diff(tc.want, values(tc.is, tc.value)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
