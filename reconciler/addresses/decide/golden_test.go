package decide_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/reconciler/addresses/decide"
)

var updating = flag.Bool("update", false, "rewrite golden files")

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenes: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var s scene
			if err := yaml.UnmarshalStrict(text, &s); err != nil {
				t.Fatal(err)
			}
			w := s.world(t)
			got := s.Note + "\n" + printed(decide.Decide(w), decide.Strays(language(t), []string{"p"}, w.Others))
			golden := strings.TrimSuffix(file, ".yaml") + ".golden"
			if *updating {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			expected, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(string(expected), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// printed is a decision as text, in the order of its writes.
func printed(d decide.Decision, strays []decide.Status) string {
	var b strings.Builder
	if d.NeedsLive {
		b.WriteString("needs live lists\n")
	}
	printStatuses(&b, "hide", d.Hide)
	if d.Claims != nil {
		printClaims(&b, d.Claims)
	}
	printStatuses(&b, "show", d.Show)
	printStatuses(&b, "stray", strays)
	keys := slices.SortedFunc(maps.Keys(d.Missing), func(a, b types.NamespacedName) int {
		return cmp.Compare(a.String(), b.String())
	})
	for _, key := range keys {
		fmt.Fprintf(&b, "missing: %s for %s\n", key, noon.Sub(d.Missing[key]))
	}
	if !d.Again.IsZero() {
		fmt.Fprintf(&b, "again in %s\n", d.Again.Sub(noon))
	}
	for _, a := range d.Alarms {
		fmt.Fprintf(&b, "alarm %s %s: %s\n", a.Gateway, a.Reason, a.Message)
	}
	f := d.Figures
	fmt.Fprintf(&b, "held %d, released %d of %d; gateways %d, live %d; uncarried %d; frozen %t\n", f.Held, f.Released,
		f.Size, f.Gateways, f.Live, f.Uncarried, f.IsFrozen)
	return b.String()
}

func printClaims(b *strings.Builder, c *claims.Claims) {
	b.WriteString("claims\n")
	for _, m := range c.Muxes {
		fmt.Fprintf(b, "  mux %s uid %s: %v, seat %d", m.Key, m.UID, m.Addresses, m.Seat)
		if !m.IsHeld() {
			fmt.Fprintf(b, ", released at %s", m.ReleasedAt.Format(time.RFC3339))
		}
		b.WriteString("\n")
	}
	for _, s := range c.Seats {
		fmt.Fprintf(b, "  seat %d: %v\n", s.RouterID, s.Order)
	}
	for _, g := range c.Gateways {
		fmt.Fprintf(b, "  gateway %s: %v\n", g.Name, g.Addresses)
	}
	if c.Adverts != (claims.Adverts{}) {
		fmt.Fprintf(b, "  adverts every %s, believed up to %s\n", c.Adverts.Interval, c.Adverts.Believed)
	}
}

func printStatuses(b *strings.Builder, what string, list []decide.Status) {
	for _, s := range list {
		fmt.Fprintf(b, "%s %s", what, s.Mux.Key)
		if s.SetsAddresses {
			fmt.Fprintf(b, ": %v", s.Addresses)
		}
		b.WriteString("\n")
		if s.Clean {
			b.WriteString("  conditions are removed\n")
			continue
		}
		fmt.Fprintf(b, "  Addressed %s %s: %s\n", s.Addressed.Status, s.Addressed.Reason, s.Addressed.Message)
		fmt.Fprintf(b, "  Carried %s %s: %s\n", s.Carried.Status, s.Carried.Reason, s.Carried.Message)
		if s.CarriedBy != "" {
			fmt.Fprintf(b, "  carried by %s\n", s.CarriedBy)
		}
		for _, e := range s.Events {
			kind := "Normal"
			if e.IsWarning {
				kind = "Warning"
			}
			fmt.Fprintf(b, "  event %s %s: %s\n", kind, e.Reason, e.Message)
		}
	}
}
