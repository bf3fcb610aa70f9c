package validation

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Parts of the messages in messages.go.

// quote makes any value safe to print: escaped as in Go, and cut to maxQuoted bytes.
func quote(value string) string {
	if len(value) <= maxQuoted {
		return strconv.Quote(value)
	}
	end := maxQuoted
	for end > maxQuoted-utf8.UTFMax && !utf8.RuneStart(value[end]) {
		end--
	}
	return fmt.Sprintf("%s... (%d bytes)", strconv.Quote(value[:end]), len(value))
}

// plain returns a short printable value, such as a key or a port, without quotes.
func plain(value string) string {
	if quoted := quote(value); quoted != `"`+value+`"` {
		return quoted
	}
	return value
}

// list returns the first maxListed names for a message.
func list(names []string) string { return listed(names, ", ", len(names)) }

// brief returns the first entries of a setting for a message. Count is the setting's number of entries.
func brief(entries []string, count int) string {
	shown := make([]string, 0, maxListed)
	for _, entry := range entries[:min(len(entries), maxListed)] {
		shown = append(shown, plain(entry))
	}
	return listed(shown, ",", count)
}

// listed joins the first maxListed names, and adds how many of all are left out.
func listed(names []string, separator string, all int) string {
	shown := names[:min(len(names), maxListed)]
	text := strings.Join(shown, separator)
	if more := all - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func zeroHint(value string) string {
	if trimmed := strings.TrimLeft(value, "0"); trimmed != value && digits(trimmed) == len(trimmed) && trimmed != "" {
		return ": leave out the leading zero"
	}
	return ""
}

func didYouMean(name string, known []string) string {
	if best := Nearest(name, known); best != "" {
		return ": did you mean " + best + "?"
	}
	return ""
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
