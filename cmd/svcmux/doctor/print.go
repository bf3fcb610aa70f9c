package doctor

import (
	"bytes"
	"fmt"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
)

// report is the output for programs.
type report struct {
	Schema string  `json:"schema"`
	Checks []Check `json:"checks"`
}

func mark(state State) string {
	return map[State]string{OK: "ok", Warning: "! ", Failure: "X ", Unknown: "? "}[state]
}

// printReport writes a line for each check, and its way out.
func printReport(env cli.Env, format string, checks []Check) error {
	var b bytes.Buffer
	if format != "" {
		if err := look.Encode(&b, format, report{Schema, checks}); err != nil {
			return err
		}
		return look.Write(env.Out, b.Bytes())
	}
	const width, indent = 11, "               "
	count := map[State]int{}
	for _, check := range checks {
		count[check.State]++
		columns := env.Columns(env.Out)
		fmt.Fprintf(&b, "%s %-*s %s\n", mark(check.State), width, check.Name, cli.Wrap(check.Message, columns, indent))
		if check.WayOut != "" {
			fmt.Fprintf(&b, "%s%s\n", indent, cli.Wrap("way out: "+check.WayOut, columns, indent))
		}
	}
	fmt.Fprintf(&b, "\n%d ok, %s, %s, %d unknown.\n", count[OK], cli.Count(count[Warning], "warning"),
		cli.Count(count[Failure], "failure"), count[Unknown])
	return look.Write(env.Out, b.Bytes())
}
