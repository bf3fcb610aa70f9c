package look

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// Row is one line of a list, in all formats.
type Row struct {
	Name   string   // for -o name
	Key    string   // identifies the row in a watch; if empty, Name does
	Cells  []string // for the table
	Item   any      // for JSON and YAML
	Steady any      // the item without fields that change with time alone; nil if it has none
	Group  string   // rows of one group are a table with this headline; "" for one table of all
}

// List is what a command prints.
type List struct {
	Schema string // of JSON and YAML
	Header []string
	Rows   []Row
	// Notes are paragraphs after the table.
	Notes []string
}

// Print writes the list in the format of -o.
func (l *List) Print(env cli.Env, format string) error {
	var b bytes.Buffer
	switch format {
	case "name":
		for _, row := range l.Rows {
			fmt.Fprintln(&b, row.Name)
		}
	case "json", "yaml":
		items := make([]any, 0, len(l.Rows))
		for _, row := range l.Rows {
			items = append(items, row.Item)
		}
		if err := Encode(&b, format, struct {
			Schema string `json:"schema"`
			Items  []any  `json:"items"`
		}{l.Schema, items}); err != nil {
			return err
		}
	default:
		if err := l.tables(&b, env); err != nil {
			return err
		}
		for _, note := range l.Notes {
			fmt.Fprintf(&b, "\n%s\n", cli.Wrap(note, env.Columns(env.Out), ""))
		}
	}
	return Write(env.Out, b.Bytes())
}

// tables writes a table for each group.
func (l *List) tables(to *bytes.Buffer, env cli.Env) error {
	for begin := 0; begin < len(l.Rows); {
		group, end := l.Rows[begin].Group, begin+1
		for end < len(l.Rows) && l.Rows[end].Group == group {
			end++
		}
		if begin > 0 {
			to.WriteByte('\n')
		}
		if group != "" {
			fmt.Fprintln(to, env.Paint(env.Out).Bold(group+":"))
		}
		if err := l.table(l.Rows[begin:end]).PrintAt(to, env.Columns(env.Out)); err != nil {
			return err
		}
		begin = end
	}
	return nil
}

func (l *List) table(rows []Row) cli.Table {
	table := cli.Table{Header: l.Header}
	for _, row := range rows {
		table.Rows = append(table.Rows, row.Cells)
	}
	return table
}

// Encode writes a value as JSON or YAML.
func Encode(to io.Writer, format string, value any) error {
	if format == "yaml" {
		data, err := yaml.Marshal(value)
		if err == nil {
			_, err = to.Write(data)
		}
		return err
	}
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// Write writes the whole output at once.
func Write(to io.Writer, data []byte) error {
	if _, err := to.Write(data); err != nil {
		return fmt.Errorf("the output couldn't be written: %w", err)
	}
	return nil
}
