// Package share makes equal strings share memory: thousands of decoded objects have a copy each of the same namespace,
// node and message.
package share

import "unique"

// Texts replaces each text by one shared copy. The copy is freed once no object uses it.
func Texts[T ~string](texts ...*T) {
	for _, text := range texts {
		if text != nil && *text != "" {
			*text = T(unique.Make(string(*text)).Value())
		}
	}
}
