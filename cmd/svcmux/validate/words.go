package validate

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

func objectName(namespace, name string) string {
	if name == "" {
		return printable(namespace) + "/(no name)"
	}
	return printable(namespace + "/" + name)
}

// maxShown limits how many bytes of a value are shown.
const maxShown = 200

// printable returns the text unchanged if a terminal can show it, else quoted. Names in files can be as hostile as
// values.
func printable(text string) string {
	strange := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	if text != "" && len(text) <= maxShown && strings.IndexFunc(text, strange) < 0 {
		return text
	}
	return shown(text)
}

// shown returns the text quoted, and shortened if it is long.
func shown(text string) string {
	if len(text) <= maxShown {
		return strconv.Quote(text)
	}
	end := maxShown
	for end > maxShown-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s... (%d bytes)", strconv.Quote(text[:end]), len(text))
}
