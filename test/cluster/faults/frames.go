package faults

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"mime"
	"slices"
)

// How the API server frames the events of a watch.
const (
	jsonMedia     = "application/json"                    // an object a line
	protobufMedia = "application/vnd.kubernetes.protobuf" // a length of four bytes, then so many
)

// framesOf returns a function that gives one event after the other, byte for byte as it came. What comes with an
// error is the torn end of a stream. Other media types (CBOR) come in the pieces in which they arrive: the order is
// kept, though an event may be counted as two.
func framesOf(media string, body io.Reader) func() ([]byte, error) {
	kind, _, _ := mime.ParseMediaType(media) // what can't be parsed is another media type
	reader := bufio.NewReader(body)
	switch kind {
	case jsonMedia:
		return func() ([]byte, error) { return reader.ReadBytes('\n') }
	case protobufMedia:
		return func() ([]byte, error) { return readLengthed(reader) }
	}
	return func() ([]byte, error) { return readPiece(reader) }
}

// readLengthed trusts the length no further than bytes come, so that a broken one doesn't cost 4 GiB.
func readLengthed(reader io.Reader) ([]byte, error) {
	var frame bytes.Buffer
	if _, err := io.CopyN(&frame, reader, 4); err != nil {
		return frame.Bytes(), torn(err, frame.Len())
	}
	length := int64(binary.BigEndian.Uint32(frame.Bytes()))
	if _, err := io.CopyN(&frame, reader, length); err != nil {
		return frame.Bytes(), torn(err, frame.Len())
	}
	return frame.Bytes(), nil
}

// torn tells an end between two frames from one inside a frame.
func torn(err error, read int) error {
	if err == io.EOF && read > 0 { //nolint:errorlint // io.Reader promises io.EOF itself
		return io.ErrUnexpectedEOF
	}
	return err
}

func readPiece(reader *bufio.Reader) ([]byte, error) {
	if _, err := reader.Peek(1); err != nil {
		return nil, err
	}
	piece, err := reader.Peek(reader.Buffered())
	piece = slices.Clone(piece)
	_, _ = reader.Discard(len(piece)) // they are buffered: discarding them can't fail
	return piece, err
}
