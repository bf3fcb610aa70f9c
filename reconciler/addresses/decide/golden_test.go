package decide_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/reconciler/addresses/decide"
)

func TestGolden(t *testing.T) {
	for _, story := range golden.Stories(t, "testdata/*.txtar") {
		t.Run(story.Name(), func(t *testing.T) {
			var s scene
			if err := yaml.UnmarshalStrict(story.Input(), &s); err != nil {
				t.Fatal(err)
			}
			w := s.world(t)
			strays := decide.Strays(language(t), []string{"p"}, w.Others)
			story.Compare(t, "want.txt", s.Note+"\n"+printed(decide.Decide(w), strays))
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
