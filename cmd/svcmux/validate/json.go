package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// cutter splits a text into JSON values that follow each other.
type cutter struct {
	chunk
	texts  []chunk
	broken []error

	line, counted int // counted is an offset, and line is its line: each line is counted once
}

// jsonTexts returns the JSON values of a chunk, and an error for each broken one. It returns nothing if the chunk isn't
// JSON.
//
// After a broken value, it continues at the next line that starts a value: in formatted JSON, lines inside a value are
// indented.
func jsonTexts(c chunk) (texts []chunk, broken []error) {
	text := bytes.TrimLeft(bytes.TrimPrefix(c.text, []byte("---")), " \t\r\n")
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return nil, nil
	}
	cut := cutter{chunk: c, line: c.line}
	for at := len(c.text) - len(text); at >= 0; {
		at = cut.from(at)
	}
	return cut.texts, cut.broken
}

// from cuts values up to a broken one. It returns the offset at which to continue, or -1 at the end.
func (c *cutter) from(at int) int {
	decoder := json.NewDecoder(bytes.NewReader(c.text[at:]))
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		end := at + int(decoder.InputOffset())
		switch {
		case errors.Is(err, io.EOF):
			return -1
		case err != nil:
			return c.fail(at, end, err)
		}
		c.texts = append(c.texts, chunk{c.lineAt(end - len(raw)), raw})
	}
}

// fail records the error and returns the offset at which to continue, or -1. The offset is after the error, so that
// cutting ends.
func (c *cutter) fail(began, end int, err error) int {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) { // io.ErrUnexpectedEOF: a bytes.Reader has no errors of its own
		end += len(c.text[end:]) - len(bytes.TrimLeft(c.text[end:], " \t\r\n"))
		c.broken = append(c.broken, unreadableAt(c.lineAt(end), errors.New("the JSON that begins here has no end")))
		return -1
	}
	at := began + int(syntax.Offset) - 1 // Offset counts the wrong character, too
	line, next, after := c.lineAt(at), -1, ""
	switch i := bytes.Index(c.text[at-1:], []byte("\n{")); {
	case i >= 0 && len(c.broken)+1 < maxMistakes:
		next = at + i
		after = fmt.Sprintf(" (reading continues at line %d)", c.lineAt(next))
	case len(bytes.TrimSpace(c.text[at+1:])) > 0:
		after = " (the rest isn't read)"
	}
	c.broken = append(c.broken, unreadableAt(line, fmt.Errorf("%w%s", err, after)))
	return next
}

// lineAt returns the line of an offset. Offsets must be in ascending order.
func (c *cutter) lineAt(offset int) int {
	offset = max(c.counted, min(offset, len(c.text)))
	c.line += bytes.Count(c.text[c.counted:offset], []byte("\n"))
	c.counted = offset
	return c.line
}
