package changes

import (
	"fmt"
	"strings"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// markdown returns the report as a comment for a pull request.
func (r *Report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### svcmux plan: %s\n", strings.ToLower(r.summary()))
	for i := range r.Denied {
		denied := &r.Denied[i]
		fmt.Fprintf(&b, "\n- **refused** %s (%s): %s\n", code(denied.Service), denied.Reason,
			escaped(cli.Sentence(denied.Message)))
	}
	for i := range r.Muxes {
		r.Muxes[i].markdown(&b)
	}
	return b.String()
}

func (m *Mux) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n#### %s\n", code(m.Name))
	rows := 0
	for _, channel := range m.Channels {
		for _, port := range channel.Ports {
			if rows++; rows == 1 {
				b.WriteString("\n| change | channel | port | number | how | when |\n| --- | --- | --- | --- | --- | --- |\n")
			}
			change := string(port.Change)
			if port.Change == Refused {
				change = "**" + change + "**"
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", change, code(channel.Name), code(port.Name),
				escaped(port.number()), port.how(), port.when())
		}
	}
	if sentences := m.sentences(); len(sentences) > 0 {
		b.WriteByte('\n')
		for _, sentence := range sentences {
			fmt.Fprintf(b, "- %s\n", escaped(sentence))
		}
	}
}

// code shows a value as code. Values come from files: no value may end the code.
func code(value string) string {
	return "`" + strings.NewReplacer("`", "'", "|", "\\|").Replace(cli.Shown(value)) + "`"
}

// escaped makes text of a cluster harmless in Markdown.
func escaped(text string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", ">", "&gt;", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "@",
		"&#64;").Replace(text)
}
