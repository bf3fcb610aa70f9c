package ledger

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// pack compresses a text: the same one gives the same bytes, since gzip's header is left without a time.
func pack(text []byte) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return packed.Bytes(), nil
}

// unpack takes one gzip stream and nothing after it, up to UnpackedLimit: a short text that unfolds to fill the memory
// takes every mux down, not only its own. Nothing unpacks to nothing.
func unpack(packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return nil, nil
	}
	rest := bytes.NewReader(packed)
	r, err := gzip.NewReader(rest)
	if err != nil {
		return nil, fmt.Errorf("it isn't gzip: %w", err)
	}
	r.Multistream(false)
	text, err := io.ReadAll(io.LimitReader(r, UnpackedLimit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("it is no whole gzip stream: %w", err)
	case len(text) > UnpackedLimit:
		return nil, fmt.Errorf("it unfolds to more than %d MiB", UnpackedLimit>>20)
	case rest.Len() > 0:
		return nil, fmt.Errorf("%d bytes follow the gzip stream", rest.Len())
	case len(text) == 0:
		return nil, errors.New("it is empty")
	}
	return text, nil
}
