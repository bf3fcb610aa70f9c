package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// cutter cuts JSON values that follow each other.
type cutter struct {
	chunk
	texts  []chunk
	broken []error

	line, counted int // the line of an offset, and which that is: lines are counted once
}

// jsonTexts returns the JSON values of a chunk, and what is broken among them; neither if it isn't JSON.
//
// After a value that can't be read it goes on where a line begins another: people and tools indent what is inside of a
// value, or write it all in one line.
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

// from cuts values up to one that can't be read, and returns where to go on; -1 if nowhere.
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

// fail says where the error is, and returns where reading goes on: beyond the error, so that it comes to an end.
func (c *cutter) fail(began, end int, err error) int {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) { // io.ErrUnexpectedEOF, or a reader's own, which this one hasn't
		end += len(c.text[end:]) - len(bytes.TrimLeft(c.text[end:], " \t\r\n"))
		c.broken = append(c.broken, unreadableAt(c.lineAt(end), errors.New("the JSON that begins here has no end")))
		return -1
	}
	at := began + int(syntax.Offset) - 1 // it counts the character that is wrong
	line, next, after := c.lineAt(at), -1, ""
	switch i := bytes.Index(c.text[at-1:], []byte("\n{")); {
	case i >= 0 && len(c.broken)+1 < maxSlips:
		next = at + i
		after = fmt.Sprintf(" (reading goes on in line %d)", c.lineAt(next))
	case len(bytes.TrimSpace(c.text[at+1:])) > 0:
		after = " (what follows isn't read)"
	}
	c.broken = append(c.broken, unreadableAt(line, fmt.Errorf("%w%s", err, after)))
	return next
}

// lineAt takes offsets in ascending order.
func (c *cutter) lineAt(offset int) int {
	offset = max(c.counted, min(offset, len(c.text)))
	c.line += bytes.Count(c.text[c.counted:offset], []byte("\n"))
	c.counted = offset
	return c.line
}
