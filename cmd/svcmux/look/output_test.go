package look

import (
	"bytes"
	"testing"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// number is a row for programs.
type number struct {
	Number  int    `json:"number"`
	Message string `json:"message,omitempty"`
	Seconds int    `json:"seconds,omitempty"`
}

func TestWatchPrintsOnlyWhatChanged(t *testing.T) {
	row := func(cells ...string) Row { return Row{Name: "443", Cells: cells} }
	item := func(n, steady number) Row {
		return Row{Name: "443", Cells: []string{"443", "3m", "held"}, Item: n, Steady: steady}
	}
	for name, tc := range map[string]struct {
		format        string
		before, after Row
		prints        bool
	}{
		"an age that grows":         {"", row("443", "3m", "held"), row("443", "4m", "held"), false},
		"an age in a list of names": {"name", row("443", "3m", "held"), row("443", "4m", "held"), false},
		"a state":                   {"", row("443", "3m", "held"), row("443", "4m", "pending"), true},
		"a grace that goes on":      {"", row("443", "3m", "grace 4m3s"), row("443", "3m", "grace 4m2s"), false},
		"a grace that begins":       {"", row("443", "3m", "held"), row("443", "3m", "grace 5m"), true},
		"a grace that ends":         {"", row("443", "3m", "grace 1s"), row("443", "1s", "held"), true},
		"a field without a column": {"json", item(number{1, "a", 5}, number{1, "a", 0}),
			item(number{1, "b", 5}, number{1, "b", 0}), true},
		"a field of YAML": {"yaml", item(number{1, "a", 5}, number{1, "a", 0}),
			item(number{1, "b", 5}, number{1, "b", 0}), true},
		"a field without a column, to a person": {"", item(number{1, "a", 5}, number{1, "a", 0}),
			item(number{1, "b", 5}, number{1, "b", 0}), false},
		"a field that ages": {"json", item(number{1, "a", 5}, number{1, "a", 0}),
			item(number{1, "a", 6}, number{1, "a", 0}), false},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			shown := &watched{env: cli.Env{Out: &out, Getenv: func(string) string { return "" }}, format: tc.format}
			for _, row := range []Row{tc.before, tc.after} {
				out.Reset()
				if err := shown.print(&List{Header: []string{"NUMBER", "SINCE", "STATE"}, Rows: []Row{row}}); err != nil {
					t.Fatal(err)
				}
			}
			if printed := out.Len() > 0; printed != tc.prints {
				t.Errorf("prints %q", out.String())
			}
		})
	}
}

func TestWatchFindsRowsOfOneName(t *testing.T) {
	var out bytes.Buffer
	shown := &watched{env: cli.Env{Out: &out, Getenv: func(string) string { return "" }}}
	for range 2 {
		out.Reset()
		if err := shown.print(&List{Header: []string{"PROTOCOL", "NUMBERS"}, Rows: []Row{
			{Name: "1-9", Key: "TCP", Cells: []string{"TCP", "1-9"}}, {Name: "1-9", Key: "UDP", Cells: []string{"UDP", "1-9"}},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	if out.Len() > 0 {
		t.Errorf("prints %q", out.String())
	}
}
