package claims_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/balancer/claims"
)

func parse(t *testing.T, texts ...string) claims.Ranges {
	t.Helper()
	ranges, err := claims.ParseRanges(texts)
	if err != nil {
		t.Fatal(err)
	}
	return ranges
}

func TestBadRangesAreRefusedByName(t *testing.T) {
	for _, text := range []string{"", "x", "192.0.2.1/24", "192.0.2.9-192.0.2.1", "192.0.2.1-2001:db8::1", "fe80::1%eth0",
		"::ffff:192.0.2.1", "192.0.2.1-"} {
		_, err := claims.ParseRanges([]string{"192.0.2.1", text})
		if err == nil || !strings.Contains(err.Error(), `"`+text+`"`) {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestSharedAddressOfRangesIsFound(t *testing.T) {
	ranges := parse(t, "192.0.2.0/25", "192.0.2.0/26")
	for others, want := range map[string]string{"192.0.2.128/25": "invalid IP", "192.0.2.100-192.0.2.130": "192.0.2.100",
		"192.0.1.0-192.0.2.9": "192.0.2.0"} {
		if got := ranges.Shared(parse(t, others)); got.String() != want {
			t.Errorf("%s: got %s, want %s", others, got, want)
		}
	}
}

func TestExcludedAddressesAreCutOutOfRanges(t *testing.T) {
	for name, c := range map[string]struct{ ranges, excluded, want []string }{
		"none": {[]string{"192.0.2.0/30"}, nil, []string{"192.0.2.0/30"}},
		"the middle": {[]string{"192.0.2.0/29"}, []string{"192.0.2.2-192.0.2.3"},
			[]string{"192.0.2.0/31", "192.0.2.4/30"}},
		"both ends":    {[]string{"192.0.2.0/29"}, []string{"192.0.2.0", "192.0.2.7"}, []string{"192.0.2.1-192.0.2.6"}},
		"all":          {[]string{"192.0.2.4/30"}, []string{"192.0.2.0/24"}, nil},
		"other family": {[]string{"::/0"}, []string{"0.0.0.0/0"}, []string{"::/0"}},
		"last of all": {[]string{"255.255.255.0/24"}, []string{"255.255.255.255"},
			[]string{"255.255.255.0-255.255.255.254"}},
		"beside ranges": {[]string{"192.0.2.4/30"}, []string{"192.0.2.3", "192.0.2.8"}, []string{"192.0.2.4/30"}},
	} {
		got := parse(t, c.ranges...).Without(parse(t, c.excluded...))
		if diff := cmp.Diff(parse(t, c.want...), got, compareAddr()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
