package faults

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

const protobufStream = protobufMedia + ";stream=watch"

func TestStreamsAreSplitIntoEvents(t *testing.T) {
	for name, test := range map[string]struct {
		media, stream string
		want          []string
		end           error
	}{
		"JSON, one line per event": {jsonMedia, "{\"a\":1}\n{\"b\":2}\n", []string{"{\"a\":1}\n", "{\"b\":2}\n"},
			io.EOF},
		"JSON, torn":           {jsonMedia, "{}\n{\"b\"", []string{"{}\n", "{\"b\""}, io.EOF},
		"JSON with parameters": {jsonMedia + ";stream=watch", "{}\n{}\n", []string{"{}\n", "{}\n"}, io.EOF},
		"protobuf, length-prefixed": {protobufStream, "\x00\x00\x00\x02ab\x00\x00\x00\x01\n",
			[]string{"\x00\x00\x00\x02ab", "\x00\x00\x00\x01\n"}, io.EOF},
		"protobuf, an empty event": {protobufStream, "\x00\x00\x00\x00\x00\x00\x00\x01a",
			[]string{"\x00\x00\x00\x00", "\x00\x00\x00\x01a"}, io.EOF},
		"protobuf, torn in its body": {protobufStream, "\x00\x00\x00\x02a", []string{"\x00\x00\x00\x02a"},
			io.ErrUnexpectedEOF},
		"protobuf, torn in its length": {protobufStream, "\x00\x00", []string{"\x00\x00"}, io.ErrUnexpectedEOF},
		"protobuf, a wrong length": {protobufStream, "\xff\xff\xff\xffa", []string{"\xff\xff\xff\xffa"},
			io.ErrUnexpectedEOF},
		"another type, as it arrives":   {"application/cbor-seq", "ab\ncd", []string{"a", "b", "\n", "c", "d"}, io.EOF},
		"no media type, as it arrives":  {"", "ab", []string{"a", "b"}, io.EOF},
		"nothing":                       {jsonMedia, "", nil, io.EOF},
		"nothing, as protobuf":          {protobufStream, "", nil, io.EOF},
		"nothing, of another mediatype": {"text/plain", "", nil, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			next := framesOf(test.media, iotest.OneByteReader(strings.NewReader(test.stream)))
			var got []string
			for {
				data, err := next()
				if len(data) > 0 {
					got = append(got, string(data))
				}
				if err == nil {
					continue
				}
				if !errors.Is(err, test.end) {
					t.Errorf("the stream ends with %v, want %v", err, test.end)
				}
				break
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzFrames checks that no byte of a stream is lost, added or moved, whatever the pieces in which it arrives.
func FuzzFrames(f *testing.F) {
	golden.Seeds(f)
	f.Add(uint8(0), []byte("{}\n{}\n"))
	f.Add(uint8(1), []byte("\x00\x00\x00\x02ab\x00\x00"))
	f.Add(uint8(2), []byte("anything"))
	f.Fuzz(func(t *testing.T, kind uint8, stream []byte) {
		media := []string{jsonMedia, protobufStream, "text/plain"}[kind%3]
		next := framesOf(media, iotest.HalfReader(bytes.NewReader(stream)))
		var got []byte
		for {
			data, err := next()
			got = append(got, data...)
			if err != nil {
				break
			}
		}
		if !bytes.Equal(stream, got) {
			t.Errorf("%s: %q became %q", media, stream, got)
		}
	})
}
