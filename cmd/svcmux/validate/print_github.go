package validate

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// printGitHub writes workflow commands, which GitHub shows beside the lines of a pull request. The last line is the
// summary, for readers of the log.
func printGitHub(rep *report, to io.Writer) error {
	var b bytes.Buffer
	for _, u := range rep.Unreadable {
		command(&b, "error", u, "unreadable", u.Message)
	}
	for _, f := range rep.Findings {
		name := "warning"
		if f.Severity == problem {
			name = "error"
		}
		at := remark{File: f.File, Line: f.Line}
		command(&b, name, at, string(f.Reason), objectName(f.Namespace, f.Name)+": "+withField(f))
	}
	for _, s := range rep.Skipped {
		command(&b, "notice", s, "skipped", s.Message)
	}
	fmt.Fprintln(&b, rep.summary())
	_, err := to.Write(b.Bytes())
	return err
}

func command(b *bytes.Buffer, name string, at remark, title, message string) {
	properties := "title=" + property(title)
	if at.File != stdinName { // standard input has no file to show it in
		line := ""
		if at.Line > 0 {
			line = fmt.Sprintf(",line=%d", at.Line)
		}
		properties = "file=" + property(at.File) + line + "," + properties
	}
	fmt.Fprintf(b, "::%s %s::%s\n", name, properties, data(message))
}

// data escapes characters that would end a command.
func data(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

// property escapes characters that would end a command or a property.
func property(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(text)
}
