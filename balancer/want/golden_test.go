package want_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/balancer/want"
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
			got := s.Note + "\n" + printed(want.Decide(s.world(t)))
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
			if diff := cmp.Diff(string(expected), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// printed is a decision as text.
func printed(d want.Decision) string {
	var b strings.Builder
	for _, what := range d.Unread {
		fmt.Fprintln(&b, "unread:", what)
	}
	if d.Wanted == nil {
		b.WriteString("the kernel stays as it is\n")
		d.Wanted = &want.Wanted{}
	}
	for _, a := range d.Wanted.Tables.Addresses {
		fmt.Fprintf(&b, "address %s of %s, source %s\n", a.Address, a.Mux, a.Source)
	}
	for _, s := range d.Wanted.Tables.Services {
		fmt.Fprintf(&b, "service %s %d-%d/%s of %s, sources %v, sticky %t: %v\n", s.Address, s.First, s.Last, s.Protocol,
			s.Mux, s.Sources, s.Sticky, s.Slots)
	}
	for _, s := range d.Wanted.Seats {
		fmt.Fprintf(&b, "seat %d, priority %d, peers %v of %d others: %v\n", s.RouterID, s.Priority, s.Peers, s.Others,
			s.Addresses)
	}
	for _, r := range d.Refusals {
		fmt.Fprintf(&b, "refused: mux %s port %q %s: %s\n", r.Mux, r.Port, r.Reason, r.Message)
	}
	return b.String()
}
