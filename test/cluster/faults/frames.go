package faults

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"mime"
	"slices"
)

// How the API server frames the events of a watch:
const (
	jsonMedia     = "application/json"                    // one object per line
	protobufMedia = "application/vnd.kubernetes.protobuf" // four bytes of length, then the object
)

// framesOf returns a function that returns the events one by one, each with its original bytes. Bytes that are returned
// with an error are an incomplete frame at the end. A stream of another media type (CBOR) is returned in the pieces in
// which it arrives: in order, but one event may count as two.
func framesOf(media string, body io.Reader) func() ([]byte, error) {
	kind, _, _ := mime.ParseMediaType(media) // an invalid media type is none of those below
	reader := bufio.NewReader(body)
	switch kind {
	case jsonMedia:
		return func() ([]byte, error) { return reader.ReadBytes('\n') }
	case protobufMedia:
		return func() ([]byte, error) { return readLengthed(reader) }
	}
	return func() ([]byte, error) { return readPiece(reader) }
}

// readLengthed reads only as many bytes as arrive, so that a wrong length doesn't allocate 4 GiB.
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

// torn distinguishes an end between two frames from an end inside of a frame.
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
	_, _ = reader.Discard(len(piece)) // discarding buffered bytes can't fail
	return piece, err
}
