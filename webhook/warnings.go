package webhook

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"nowake.ai/svc-lb-mux/validation"
)

// Kubernetes' limits, in characters. If the warnings of a request have more than maxWarnings together, the API server
// cuts each of them, also those of other webhooks, to maxWarning. For the total, this code counts bytes, which are
// never fewer than characters.
const (
	maxWarning  = 256
	maxWarnings = 4096
	// maxErrorText limits the text of another package's error, which may quote its input.
	maxErrorText = 512
)

// textTolerated is the prefix of warnings about problems that the old object has, too.
const textTolerated = "was there before, and is refused in new objects: "

// warnings returns the lines that kubectl prints. Tolerated problems come first, then predictions: the last lines are
// dropped if there are too many.
func warnings(verdict validation.Verdict, predictions ...string) []string {
	if len(verdict.Tolerated)+len(verdict.Warnings)+len(predictions) == 0 {
		return nil
	}
	texts := make([]string, 0, len(verdict.Tolerated)+len(verdict.Warnings)+len(predictions))
	for _, p := range verdict.Tolerated {
		texts = append(texts, shorten(textTolerated+p.Message, maxWarning))
	}
	for _, text := range predictions {
		texts = append(texts, shorten(text, maxWarning))
	}
	for _, p := range verdict.Warnings {
		texts = append(texts, shorten(p.Message, maxWarning))
	}
	return fit(texts)
}

// fit drops texts past the total limit, and adds how many it dropped.
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

// shorten cuts a text to a number of characters, after a whole word if one ends near the limit.
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
