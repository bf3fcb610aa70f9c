package webhook

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"nowake.ai/svc-lb-mux/validation"
)

// Kubernetes' limits. Past the total, the API server cuts every warning of a request, those of others too, to the
// length of one. It counts characters; the total is counted in bytes here, which are never fewer.
const (
	maxWarning  = 256
	maxWarnings = 4096
	// maxErrorText is how much of another package's error is passed on: it may quote what it was given.
	maxErrorText = 512
)

// textTolerated comes before a problem that isn't this change's doing.
const textTolerated = "was there before, and is refused in new Services: "

// warnings are the lines that kubectl prints. Tolerated problems come first, then what is foreseen: they matter more.
func warnings(verdict validation.Verdict, foreseen ...string) []string {
	if len(verdict.Tolerated)+len(verdict.Warnings)+len(foreseen) == 0 {
		return nil
	}
	texts := make([]string, 0, len(verdict.Tolerated)+len(verdict.Warnings)+len(foreseen))
	for _, p := range verdict.Tolerated {
		texts = append(texts, shorten(textTolerated+p.Message, maxWarning))
	}
	for _, text := range foreseen {
		texts = append(texts, shorten(text, maxWarning))
	}
	for _, p := range verdict.Warnings {
		texts = append(texts, shorten(p.Message, maxWarning))
	}
	return fit(texts)
}

// fit drops the last ones of too many, and says how many.
func fit(texts []string) []string {
	const room = 32 // for the last line
	total := 0
	for i, text := range texts {
		total += len(text)
		if total > maxWarnings-room {
			return append(texts[:i:i], fmt.Sprintf("and %d more", len(texts)-i))
		}
	}
	return texts
}

// shorten cuts a text to a number of characters, after a whole word if there is one near.
func shorten(text string, limit int) string {
	if len(text) <= limit || utf8.RuneCountInString(text) <= limit {
		return text
	}
	end := 0
	for range limit - 1 {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	if space := strings.LastIndexByte(text[:end], ' '); space > end*3/4 {
		end = space
	}
	return text[:end] + "…"
}
