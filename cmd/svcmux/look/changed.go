package look

import (
	"cmp"
	"encoding/json"
	"strings"
)

// changed returns the rows whose contents in a format differ from the last ones, and the contents of all rows by key.
func (l *List) changed(last map[string]string, format string) (rows []Row, now map[string]string, err error) {
	now = map[string]string{}
	for _, row := range l.Rows {
		key := cmp.Or(row.Key, row.Name)
		if now[key], err = l.steady(&row, format); err != nil {
			return nil, nil, err
		}
		if last[key] != now[key] {
			rows = append(rows, row)
		}
	}
	return rows, now, nil
}

// steady returns a row's contents in a format, without the parts that change with time alone.
func (l *List) steady(row *Row, format string) (string, error) {
	if format == "json" || format == "yaml" {
		item := row.Item
		if row.Steady != nil {
			item = row.Steady
		}
		text, err := json.Marshal(item)
		return string(text), err
	}
	cells := make([]string, 0, len(row.Cells))
	for i, cell := range row.Cells {
		cells = append(cells, SteadyCell(l.Header[i], cell))
	}
	return strings.Join(cells, "\t"), nil
}

// SteadyCell returns a cell without the parts that change with time alone: ages, and the rest of a grace.
func SteadyCell(column, cell string) string {
	switch {
	case column == "SINCE" || column == "FULL":
		return ""
	case strings.HasPrefix(cell, "grace "):
		return "grace"
	}
	return cell
}
