package record

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// parse reads a text. If some field doesn't fit, it returns an error, and the fields before that one, such as the
// version.
func parse(text []byte) (document, error) {
	var doc document
	err := json.Unmarshal(text, &doc)
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mismatch): // its own message is about Go types
		return doc, fmt.Errorf("%s can't be a JSON %s", cmp.Or(mismatch.Field, "a ledger"), mismatch.Value)
	case errors.Is(err, errTooMany):
		return doc, err
	case err != nil:
		return doc, fmt.Errorf("it isn't JSON: %w", err)
	case string(bytes.TrimSpace(text)) == "null":
		return doc, errors.New("a ledger can't be a JSON null")
	}
	return doc, nil
}

// maxListed bounds each list of a ledger. No mux has that many ports: the API server takes no Service with more than
// some 10,000.
const maxListed = 1 << 16

var errTooMany = fmt.Errorf("it lists more than %d things, which no mux has", maxListed)

// list is a list in a ledger. It stops reading after maxListed entries: an entry of 3 bytes takes 170 bytes in memory,
// so a forged text could fill the memory.
type list[T any] []T

func (l *list[T]) UnmarshalJSON(text []byte) error {
	from := json.NewDecoder(bytes.NewReader(text))
	switch open, err := from.Token(); {
	case err != nil || open == nil:
		return err
	case open != json.Delim('['):
		return json.Unmarshal(text, (*[]T)(l)) // its error says what the text is instead of a list
	}
	*l = list[T]{}
	for from.More() {
		if len(*l) == maxListed {
			return errTooMany
		}
		var entry T
		if err := from.Decode(&entry); err != nil {
			return err
		}
		*l = append(*l, entry)
	}
	return nil
}

// sealed adds the checksum to a JSON object. The object must have no checksum and no white space, and mustn't be empty.
func sealed(text []byte) []byte {
	checksum := checksumOf(text)
	return append(text[:len(text)-1], seal(checksum)...)
}

func seal(checksum string) string { return `,"checksum":"` + checksum + `"}` }

// fits is true if the text is as it was when it was sealed, apart from white space.
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
