package ledger

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// parse reads a text. Of one that doesn't fit, as much as fits is returned with the error: the version, for one.
func parse(text []byte) (document, error) {
	var doc document
	if crowded(text) {
		return doc, fmt.Errorf("it lists more than %d things, which no mux has", maxListed)
	}
	err := json.Unmarshal(text, &doc)
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mismatch): // its own words are about Go
		return doc, fmt.Errorf("%s can't be a JSON %s", cmp.Or(mismatch.Field, "a ledger"), mismatch.Value)
	case err != nil:
		return doc, fmt.Errorf("it isn't JSON: %w", err)
	case string(bytes.TrimSpace(text)) == "null":
		return doc, errors.New("a ledger can't be a JSON null")
	}
	return doc, keysOnce(text)
}

// A Service of more than some ten thousand ports is more than the API server takes, so no mux has as many claims.
const (
	maxListed = 1 << 16
	maxDepth  = 100
)

// crowded is true for a text that would fill the memory once it is read: a few bytes each can list millions of things that
// take hundreds of bytes. It takes no memory itself, and whether the text is JSON is found out later.
func crowded(text []byte) bool {
	var open [maxDepth]byte
	depth, listed := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth == maxDepth {
				return true
			}
			open[depth] = c
			depth++
		case '}', ']':
			depth = max(depth-1, 0)
		case ',':
			if depth > 0 && open[depth-1] == '[' {
				listed++
			}
		}
	}
	return listed > maxListed
}

// keysOnce refuses a key that is there twice in one object: readers differ in which of the two counts. So they do
// about case, which Go's reader doesn't mind. The text is known to be JSON.
func keysOnce(text []byte) error {
	var (
		keys  [][]byte // of all objects that are open, outermost first
		outer []int    // for each of them, where its keys begin; -1 for a list
		begin = -1
	)
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			outer = append(outer, begin)
			if begin = -1; text[i] == '{' {
				begin = len(keys)
			}
		case '}', ']':
			if begin >= 0 {
				keys = keys[:begin]
			}
			begin, outer = outer[len(outer)-1], outer[:len(outer)-1]
		case '"':
			end := endOfString(text, i)
			if begin >= 0 && isKey(text[end:]) {
				key := text[i+1 : end-1]
				if err := another(key, keys[begin:]); err != nil {
					return err
				}
				keys = append(keys, key)
			}
			i = end - 1
		}
	}
	return nil
}

// maxKeys is how many keys an object may have: each is compared with each.
const maxKeys = 100

// another says what is wrong with one more key of an object. An escape would hide that two are the same, and none of
// our keys needs one.
func another(key []byte, others [][]byte) error {
	if bytes.IndexByte(key, '\\') >= 0 {
		return fmt.Errorf("key %s is written with an escape", short(string(key)))
	}
	if len(others) == maxKeys {
		return fmt.Errorf("an object has more than %d keys", maxKeys)
	}
	for _, other := range others {
		if bytes.EqualFold(key, other) {
			return fmt.Errorf("key %s is there twice in one object", short(string(key)))
		}
	}
	return nil
}

// endOfString is the index after the closing quote of the string that begins at i.
func endOfString(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// isKey is true if what follows a string makes it a key.
func isKey(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

// sealed adds the checksum to a JSON object that has none, without white space, and not empty.
func sealed(text []byte) []byte {
	checksum := checksumOf(text)
	return append(text[:len(text)-1], seal(checksum)...)
}

func seal(checksum string) string { return `,"checksum":"` + checksum + `"}` }

// fits is true if the text is as it was sealed, but for white space.
func fits(text []byte, checksum string) bool {
	var compact bytes.Buffer
	if json.Compact(&compact, text) != nil {
		return false
	}
	body, found := bytes.CutSuffix(compact.Bytes(), []byte(seal(checksum)))
	return found && checksumOf(append(body, '}')) == checksum
}

func checksumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
