package validation

import (
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

func FuzzPortsAnnotation(f *testing.F) {
	golden.Seeds(f)
	for _, seed := range []string{
		"http:80->8080, grpc:9090->20001", "http:80->", "a:1->2,a:3->4", ":1->2", "a:080->1", "A:1->2", "a:1->2->3",
		"rtp:5000->10000-19999", "a:1->3-2", "a:1->2-2", "a:1->2-", "a:1-2->3", "a:1->1-65536", "a:1->auto",
	} {
		f.Add(seed)
	}
	grammar := regexp.MustCompile(`\A([-a-z0-9]+)\s*:\s*([0-9]+)\s*->\s*([0-9]+)(?:\s*-\s*([0-9]+))?\z`)
	f.Fuzz(func(t *testing.T, value string) {
		got, ok := ParsePorts(value)
		var want []PortMapping
		wantOK, seen := true, map[string]bool{}
		for _, entry := range plainEntries(value) {
			parts := grammar.FindStringSubmatch(entry)
			if parts == nil || seen[parts[1]] || len(apivalidation.IsDNS1123Label(parts[1])) > 0 {
				wantOK = false
				break
			}
			seen[parts[1]] = true
			own, ok := plainPort(parts[2])
			public, ok2 := plainPort(parts[3])
			mapping := PortMapping{Name: parts[1], Port: int32(own), Public: int32(public)}
			if parts[4] != "" {
				last, ok3 := plainPort(parts[4])
				if ok2 = ok2 && ok3 && last >= public; last > public {
					mapping.Last = int32(last)
				}
			}
			wantOK = wantOK && ok && ok2
			want = append(want, mapping)
		}
		if ok != wantOK {
			t.Fatalf("accepted: %v, the reference says %v", ok, wantOK)
		}
		if !ok {
			want = nil
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-reference +got):\n%s", diff)
		}
		if again, ok := ParsePorts(FormatPorts(got)); !ok || !slices.Equal(again, got) {
			t.Fatalf("%v reads as %v after being written out", got, again)
		}
	})
}

func FuzzGeneration(f *testing.F) {
	golden.Seeds(f)
	for _, seed := range []string{"1", "0", "-1", "9223372036854775807", "9223372036854775808", "01", "1e3", " 1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got, ok := ParseGeneration(value)
		want, err := strconv.ParseInt(value, 10, 64)
		wantOK := err == nil && want > 0 && strconv.FormatInt(want, 10) == value
		if !wantOK {
			want = 0
		}
		if ok != wantOK || got != want || ok && FormatGeneration(got) != value {
			t.Fatalf("%d, %v; the reference says %d, %v", got, ok, want, wantOK)
		}
	})
}

func FuzzAggregated(f *testing.F) {
	golden.Seeds(f)
	for _, seed := range []string{
		"a.b,c.d,cloudflare-proxied=true",
		"a.b,external-dns.kubernetes.io/c.d,external-dns.alpha.kubernetes.io/cloudflare-proxied=false",
		"cloudflare-proxied=maybe", "A.b.,a.b", "=,,", "x y", ".", "a .,b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		ours := ParseAggregated(value)
		again := ParseAggregated(FormatAggregated(ours))
		for i := range ours {
			if ours[i].Proxied == Garbled { // our code never writes it
				ours[i].Proxied = Unset
			}
		}
		if diff := cmp.Diff(ours, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("reads differently after being written out:\n%s", diff)
		}
	})
}
