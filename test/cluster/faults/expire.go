package faults

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"mime"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// expire ends the stream with an error event. In a media type that can't be encoded here the stream just ends, and its
// client watches again. The caller holds watches.mu.
func (s *stream) expire() {
	status := statusOf(s.request, http.StatusGone)
	event, err := errorEvent(s.media, status)
	if err != nil {
		event = nil
	}
	s.cut(io.EOF, event)
}

// errorEvent encodes a Status as the last event of a watch.
func errorEvent(media string, status *metav1.Status) ([]byte, error) {
	kind, _, _ := mime.ParseMediaType(media) // an invalid media type is none of those below
	switch kind {
	case jsonMedia:
		event := metav1.WatchEvent{Type: string(watch.Error), Object: runtime.RawExtension{Object: status}}
		line, err := json.Marshal(event)
		return append(line, '\n'), err
	case protobufMedia:
		return protobufEvent(status)
	}
	return nil, nil
}

func protobufEvent(status *metav1.Status) ([]byte, error) {
	raw, err := status.Marshal()
	if err != nil {
		return nil, err
	}
	wrapped := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Status"}, Raw: raw}
	object, err := wrapped.Marshal()
	if err != nil {
		return nil, err
	}
	object = append([]byte(protobufMagic), object...)
	event := metav1.WatchEvent{Type: string(watch.Error), Object: runtime.RawExtension{Raw: object}}
	frame, err := event.Marshal()
	if err != nil {
		return nil, err
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...), nil
}
