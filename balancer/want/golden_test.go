package want_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/balancer/want"
	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

func TestGolden(t *testing.T) {
	for _, story := range golden.Stories(t, "testdata/*.txtar") {
		t.Run(story.Name(), func(t *testing.T) {
			var s scene
			if err := yaml.UnmarshalStrict(story.Input(), &s); err != nil {
				t.Fatal(err)
			}
			story.Compare(t, "want.txt", s.Note+"\n"+printed(want.Decide(s.world(t))))
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
