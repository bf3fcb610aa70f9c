package cli

import (
	"strings"
	"unicode/utf8"
)

// leastWidth is the narrowest column that text is wrapped into: a narrower one would have too many lines of one word.
const leastWidth = 20

// Wrap breaks text into lines of at most that many columns, 0 for any. All lines but the first begin with the indent.
func Wrap(text string, columns int, indent string) string {
	if columns <= 0 {
		return text
	}
	columns = max(columns, leastWidth+utf8.RuneCountInString(indent))
	var b strings.Builder
	used := utf8.RuneCountInString(indent) // the caller has indented the first line
	for i, word := range strings.Fields(text) {
		long := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+long > columns:
			b.WriteString("\n" + indent)
			used = utf8.RuneCountInString(indent)
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += long
	}
	return b.String()
}
