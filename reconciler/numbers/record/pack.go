package record

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
)

// pack compresses a text. Equal texts give equal bytes, since gzip's header is left without a time.
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

// unpack decompresses up to UnpackedLimit bytes. Without the limit, a short forged text could fill the memory, and so
// harm every mux.
func unpack(packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return nil, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("it isn't gzip: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, UnpackedLimit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("it is no whole gzip stream: %w", err)
	case len(text) > UnpackedLimit:
		return nil, fmt.Errorf("it unfolds to more than %d MiB", UnpackedLimit>>20)
	}
	return text, nil
}
