package tcpservices

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// write prints the report or the channels, and saves the channels if a folder is given. With channels on standard
// output, the entries that are left out go to standard error.
func (f *flags) write(env cli.Env, result *Result) error {
	if f.output.Dir != "" && len(result.Channels) > 0 {
		files, err := f.output.Save(func(metav1.Object) bool { return false }, result.Channels)
		if err != nil {
			return err
		}
		fmt.Fprintf(env.Err, "%s written to %s: %s\n", cli.Count(len(files), "file"), cli.Shown(f.output.Dir),
			strings.Join(files, " "))
	}
	objects := f.output.Objects()
	to := env.Out
	if objects {
		to = env.Err
	}
	var b bytes.Buffer
	fmt.Fprintln(&b, env.Paint(to).Bold(f.headline(result)))
	tables := []titled{
		{"Look at these:", result.noteTable()},
		{"Left out:", result.leftTable()},
	}
	if !objects {
		tables = append([]titled{{"Channels:", result.rowTable(f.output.Format == "wide")}}, tables...)
	}
	for _, t := range tables {
		if err := t.print(to, &b); err != nil {
			return err
		}
	}
	if !objects && f.output.Dir == "" && len(result.Channels) > 0 {
		fmt.Fprintf(&b, "\n%s import tcp-services --manifests DIR writes the channels as files.\n", env.Program)
	}
	if _, err := to.Write(b.Bytes()); err != nil {
		return fmt.Errorf("the report couldn't be written: %w", err)
	}
	if objects {
		return f.output.Print(env.Out, result.Channels)
	}
	return nil
}

func (f *flags) headline(r *Result) string {
	all := len(r.Rows) + len(r.Left)
	switch {
	case all == 0:
		return "The ConfigMaps have no entries."
	case len(r.Left) == 0:
		return fmt.Sprintf("%s become %s of the mux %s.", entries(all), cli.Count(len(r.Channels), "channel"), f.Mux)
	}
	return fmt.Sprintf("%d of %s become %s of the mux %s.", len(r.Rows), entries(all),
		cli.Count(len(r.Channels), "channel"), f.Mux)
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// titled is a table with a title. Without rows, nothing is printed.
type titled struct {
	title string
	table cli.Table
}

func (t titled) print(terminal, to io.Writer) error {
	if len(t.table.Rows) == 0 {
		return nil
	}
	fmt.Fprintf(to, "\n%s\n", t.title)
	return t.table.PrintFor(terminal, to)
}

func (r *Result) rowTable(wide bool) cli.Table {
	table := cli.Table{Header: []string{"NUMBER", "SERVICE", "PORT", "CHANNEL"}}
	if wide {
		table.Header = append(table.Header, "CONFIGMAP")
	}
	for _, row := range r.Rows {
		cells := []string{row.Slot, cli.Shown(row.Service), cli.Shown(row.Port), row.Channel}
		if wide {
			cells = append(cells, row.ConfigMap)
		}
		table.Rows = append(table.Rows, cells)
	}
	return table
}

func (r *Result) noteTable() cli.Table {
	table := cli.Table{Header: []string{"NUMBER", "NOTE"}}
	for _, note := range r.Notes {
		table.Rows = append(table.Rows, []string{note.Slot, note.Text})
	}
	return table
}

func (r *Result) leftTable() cli.Table {
	table := cli.Table{Header: []string{"NUMBER", "ENTRY", "WHY"}}
	for _, left := range r.Left {
		table.Rows = append(table.Rows, []string{cli.Shown(left.Slot), cli.Shown(left.Value), left.Why})
	}
	return table
}
