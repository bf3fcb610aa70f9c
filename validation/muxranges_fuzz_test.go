package validation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

func TestRangesAnnotation(t *testing.T) {
	rtp := MuxRange{"rtp", PortRange{10000, 19999}, corev1.ProtocolUDP}
	for what, test := range map[string]struct {
		value string
		want  []MuxRange
	}{
		"empty": {"", nil},
		"one":   {"rtp=10000-19999/UDP", []MuxRange{rtp}},
		"sorted": {"b=20000-20001/TCP, rtp=10000-19999/UDP",
			[]MuxRange{rtp, {"b", PortRange{20000, 20001}, corev1.ProtocolTCP}}},
		"the first of a name": {"rtp=10000-19999/UDP,rtp=1-2/TCP", []MuxRange{rtp}},
		"a number":            {"a=80/TCP", nil},
		"a range of one":      {"a=80-80/TCP", nil},
		"reversed":            {"a=81-80/TCP", nil},
		"auto":                {"a=auto/TCP", nil},
		"no protocol":         {"a=80-81", nil},
		"another protocol":    {"a=80-81/tcp", nil},
		"no name":             {"=80-81/TCP", nil},
		"a bad name":          {"A=80-81/TCP", nil},
		"past the last port":  {"a=80-65536/TCP", nil},
		"beside nonsense":     {"x,rtp=10000-19999/UDP,=", []MuxRange{rtp}},
	} {
		t.Run(what, func(t *testing.T) {
			if diff := cmp.Diff(test.want, ParseRanges(test.value)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzRangesAnnotation(f *testing.F) {
	golden.Seeds(f)
	for _, seed := range []string{"rtp=10000-19999/UDP", "a=1-2/TCP,b=1-3/TCP", "a=2-1/TCP", "a=1-2/SCTP,,a=3-4/UDP"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		ranges := ParseRanges(value)
		if diff := cmp.Diff(ranges, ParseRanges(FormatRanges(ranges)), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("it doesn't read as it is written (-want +got):\n%s", diff)
		}
		for _, r := range ranges {
			if r.Run.First < MinPort || r.Run.First >= r.Run.Last || r.Run.Last > MaxPort || !IsLabel(r.Name) {
				t.Errorf("%+v is no range of a mux", r)
			}
		}
	})
}
