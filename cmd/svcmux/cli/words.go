package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Count returns "1 mux", "2 muxes", "3 ports", "4 classes".
func Count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "x") || strings.HasSuffix(what, "ss"):
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// maxShown limits how many bytes of a value are shown.
const maxShown = 200

// Shown returns a value from a cluster or a file as a terminal can show it: hostile values are quoted and shortened.
func Shown(text string) string {
	if len(text) > maxShown {
		return strconv.Quote(strings.ToValidUTF8(text[:maxShown], "")) + "..."
	}
	strange := func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }
	if text == "" || strings.IndexFunc(text, strange) >= 0 {
		return strconv.Quote(text)
	}
	return text
}

// Sentence makes the message of another package safe to print in one line.
func Sentence(text string) string {
	const bound = 600
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > bound {
		text = strings.ToValidUTF8(text[:bound], "") + "..."
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// Age returns a duration as kubectl shows ages, such as 12d.
func Age(d time.Duration) string { return duration.HumanDuration(d) }
