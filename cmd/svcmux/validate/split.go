package validate

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// chunk is the text of one document. A chunk of JSON may hold several.
type chunk struct {
	line int // the chunk's first line in the file, counted from 1
	text []byte
}

const bom = "\uFEFF"

// split cuts a file at lines that begin with --- or ... as YAML does; no YAML value may begin a line with them, not
// even a block of text. So a broken document doesn't affect the others, and errors have the right line.
func split(data []byte) ([]chunk, error) {
	if err := checkText(data); err != nil {
		return nil, err
	}
	var (
		chunks             []chunk
		current            chunk
		opened, hasContent bool // the current chunk has its ---; it has more than comments
	)
	cut := func(line int) {
		if hasContent {
			chunks = append(chunks, current)
		}
		current, opened, hasContent = chunk{line: line}, false, false
	}
	data = bytes.TrimPrefix(data, []byte(bom))
	for number, at := 1, 0; at < len(data); number++ {
		end := at + lineLength(data[at:])
		line := bytes.TrimPrefix(data[at:end], []byte(bom)) // concatenated files may each start with one
		switch {
		case isMarker(line, "..."):
			cut(number + 1)
			at = end
			continue
		case isMarker(line, "---"):
			if hasContent || opened {
				cut(number)
			}
			opened = true
			hasContent = !isBlank(line[len("---"):])
		default:
			hasContent = hasContent || !isBlank(line)
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

// isMarker says that the line begins with the marker ... or ---. Lines such as ---- or ---a don't count.
func isMarker(line []byte, marker string) bool {
	rest, found := bytes.CutPrefix(line, []byte(marker))
	return found && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0 || breakLength(rest) > 0)
}

// isBlank says that the line has at most a comment or, at its beginning, a directive.
func isBlank(line []byte) bool {
	text := bytes.Trim(line, " \t\r\n\u0085\u2028\u2029")
	return len(text) == 0 || text[0] == '#' || line[0] == '%'
}

// lineLength returns the length of the first line, with its line break.
func lineLength(data []byte) int {
	for i := range data {
		if n := breakLength(data[i:]); n > 0 {
			return i + n
		}
	}
	return len(data)
}

// breakLength returns the length of a YAML 1.1 line break, or 0.
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

// maxEntries limits the number of lines, list entries and brackets in a file. Two bytes of text can need hundreds of
// bytes of memory once parsed, and empty documents aren't cheaper. A file with a hundred thousand Services stays below
// the limit.
const maxEntries = 2 << 20

// checkText refuses a text that isn't UTF-8, and a text whose parsing would need gigabytes of memory. The error names
// the encoding if it is known.
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
		return errors.New("is not text: it contains zero bytes")
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
