package main

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// chunk is one document's text; a chunk of JSON may hold several.
type chunk struct {
	line int // of the file, where the chunk begins; the first is 1
	text []byte
}

const bom = "\uFEFF"

// split cuts a file at lines that begin with --- or ..., wherever YAML sees one: nothing else may begin a line with
// them, not even a block of text. So each document fails alone, and is told by its own lines.
func split(data []byte) ([]chunk, error) {
	if err := checkText(data); err != nil {
		return nil, err
	}
	var (
		chunks        []chunk
		current       chunk
		opened, stuff bool // the current chunk has its ---, and something besides comments
	)
	cut := func(line int) {
		if stuff {
			chunks = append(chunks, current)
		}
		current, opened, stuff = chunk{line: line}, false, false
	}
	data = bytes.TrimPrefix(data, []byte(bom))
	for number, at := 1, 0; at < len(data); number++ {
		end := at + lineLength(data[at:])
		line := bytes.TrimPrefix(data[at:end], []byte(bom)) // files with one, put together
		switch {
		case isMarker(line, "..."):
			cut(number + 1)
			at = end
			continue
		case isMarker(line, "---"):
			if stuff || opened {
				cut(number)
			}
			opened = true
			stuff = !isBlank(line[len("---"):])
		default:
			stuff = stuff || !isBlank(line)
		}
		if current.line == 0 {
			current.line = number
		}
		current.text = append(current.text, line...)
		at = end
	}
	cut(0)
	return chunks, nil
}

// isMarker is true for a line that begins with ... or ---, and for nothing like ---- or ---a.
func isMarker(line []byte, marker string) bool {
	rest, found := bytes.CutPrefix(line, []byte(marker))
	return found && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0 || breakLength(rest) > 0)
}

// isBlank is true for a line that has at most a comment or, at its beginning, a directive.
func isBlank(line []byte) bool {
	text := bytes.Trim(line, " \t\r\n\u0085\u2028\u2029")
	return len(text) == 0 || text[0] == '#' || line[0] == '%'
}

// lineLength returns how long the first line is, with its break.
func lineLength(data []byte) int {
	for i := range data {
		if n := breakLength(data[i:]); n > 0 {
			return i + n
		}
	}
	return len(data)
}

// breakLength returns the length of a line break as YAML 1.1 knows them, or 0.
func breakLength(data []byte) int {
	switch {
	case data[0] == '\n':
		return 1
	case data[0] == '\r':
		if len(data) > 1 && data[1] == '\n' {
			return 2
		}
		return 1
	case data[0] < utf8.RuneSelf:
		return 0
	}
	for _, exotic := range []string{"\u0085", "\u2028", "\u2029"} {
		if bytes.HasPrefix(data, []byte(exotic)) {
			return len(exotic)
		}
	}
	return 0
}

// maxEntries bounds how many things a file may hold: two letters in it are hundreds of bytes once they are read, and
// a document of nothing is no cheaper. A hundred thousand Services stay below it.
const maxEntries = 2 << 20

// checkText refuses what isn't UTF-8, by the name that helps most, and what would take gigabytes to read.
func checkText(data []byte) error {
	entries := 0
	for _, opens := range []string{"\n", "\r", ",", "[", "{", "- "} {
		entries += bytes.Count(data, []byte(opens))
	}
	if entries > maxEntries {
		return fmt.Errorf("has more than %d lines, list entries and brackets: split it", maxEntries)
	}
	if bytes.HasPrefix(data, []byte("\xFF\xFE")) || bytes.HasPrefix(data, []byte("\xFE\xFF")) {
		return errors.New("is UTF-16: save it as UTF-8 (PowerShell: Out-File -Encoding utf8)")
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return errors.New("is not text: it has zero bytes in it")
	}
	if utf8.Valid(data) {
		return nil
	}
	line := 1
	for at := 0; at < len(data); {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n == 1 {
			return fmt.Errorf("is not UTF-8: line %d has the byte 0x%02x", line, data[at])
		}
		if r == '\n' {
			line++
		}
		at += n
	}
	return nil
}
