package ports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/reconciler/console/view"
	"nowake.ai/svc-lb-mux/reconciler/sight"
)

// FreeSchema is the version of the output of --free for programs.
const FreeSchema = "svc-lb-mux/free/v1"

type freeItem struct {
	Mux string `json:"mux"`
	view.Free
}

func freeHeader(watch bool) []string {
	columns := []string{"PROTOCOL", "FREE", "NUMBERS"}
	if watch {
		columns = slices.Insert(columns, 0, "MUX")
	}
	return columns
}

// freeRows returns the free numbers of a mux's range, a line for each protocol.
func freeRows(s *sight.Sight, watch bool) []look.Row {
	mux := s.World.Key.String()
	var rows []look.Row
	for _, free := range view.FreeOf(s) {
		row := look.Row{Name: runs(free.Numbers), Key: mux + ":" + free.Protocol, Item: freeItem{mux, free}}
		if watch {
			row.Cells = append(row.Cells, cli.Shown(mux))
		}
		row.Cells = append(row.Cells, free.Protocol, strconv.Itoa(free.Count), dash(row.Name))
		rows = append(rows, row)
	}
	return rows
}

// runs writes ranges as annotation port-range has them.
func runs(ranges []view.Range) string {
	texts := make([]string, 0, len(ranges))
	for _, run := range ranges {
		if run.First == run.Last {
			texts = append(texts, strconv.Itoa(int(run.First)))
		} else {
			texts = append(texts, fmt.Sprintf("%d-%d", run.First, run.Last))
		}
	}
	return strings.Join(texts, ",")
}
