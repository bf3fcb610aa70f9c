// Package share has what thousands of objects say alike take its room once: decoded objects have a copy each of the same
// namespace, node and message.
package share

import "unique"

// Texts replaces texts by the one that is kept of each, for as long as anybody has it.
func Texts[T ~string](texts ...*T) {
	for _, text := range texts {
		if text != nil && *text != "" {
			*text = T(unique.Make(string(*text)).Value())
		}
	}
}
