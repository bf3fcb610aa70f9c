package validate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// printer writes a report in one write: half a report would look complete.
type printer func(rep *report, to io.Writer) error

// printers returns the formats of -o.
func printers() map[string]printer {
	return map[string]printer{
		"text":   printText,
		"json":   printJSON,
		"sarif":  printSARIF,
		"github": printGitHub,
	}
}

// printText writes a line for each finding, in the style of compilers: FILE:LINE: problem: OBJECT: FIELD: MESSAGE
// (REASON).
func printText(rep *report, to io.Writer) error {
	var b bytes.Buffer
	for _, f := range rep.Findings {
		fmt.Fprintf(&b, "%s%s: %s: %s (%s)\n", remark{File: f.File, Line: f.Line}.place(), f.Severity,
			objectName(f.Namespace, f.Name), withField(f), f.Reason)
	}
	for _, s := range rep.Skipped {
		fmt.Fprintf(&b, "%s%s\n", s.place(), s.Message)
	}
	fmt.Fprintln(&b, rep.summary())
	_, err := to.Write(b.Bytes())
	return err
}

// withField puts the field before the message, unless the message starts with it. A message about an annotation starts
// with the annotation's name without the prefix. withField leaves this name out, since the field contains it.
func withField(f finding) string {
	if f.Field == "" || strings.HasPrefix(f.Message, f.Field+":") {
		return f.Message
	}
	key := strings.TrimSuffix(f.Field, "]")
	name := key[strings.LastIndexByte(key, '/')+1:]
	return printable(f.Field) + ": " + strings.TrimPrefix(f.Message, name+": ")
}

func printJSON(rep *report, to io.Writer) error {
	type counts struct {
		Files    int `json:"files"`
		Muxes    int `json:"muxes"`
		Channels int `json:"channels"`
		Others   int `json:"others"`
		Routes   int `json:"routes,omitempty"`
		Unread   int `json:"unread"`
		Problems int `json:"problems"`
		Warnings int `json:"warnings"`
	}
	return encode(to, struct {
		Counts     counts    `json:"counts"`
		Findings   []finding `json:"findings"`
		Unreadable []remark  `json:"unreadable"`
		Skipped    []remark  `json:"skipped"`
	}{
		counts{rep.Files, rep.Muxes, rep.Channels, rep.Others, rep.Routes, rep.Unread, rep.count(problem),
			rep.count(warning)},
		orEmpty(rep.Findings), orEmpty(rep.Unreadable), orEmpty(rep.Skipped),
	})
}

// orEmpty turns a nil list into an empty one, so that JSON has [] instead of null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func encode(to io.Writer, value any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := to.Write(b.Bytes())
	return err
}
