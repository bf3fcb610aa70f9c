package faults

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// protobufMagic is the prefix of each protobuf object of the API, except in a watch's frames.
const protobufMagic = "k8s\x00"

// keepBody reads the whole body. So the proxy makes a write even if its client is killed meanwhile. It can also repeat
// the write on another connection, as the client itself would. Streamed bodies aren't read.
func keepBody(r *http.Request, request *Request) error {
	if r.Body == nil || r.Body == http.NoBody || request.LongRunning || isUpgrade(r) {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()
	r.ContentLength = int64(len(body))
	if request.Verb == "delete" || request.Verb == "deletecollection" {
		request.DryRun = request.DryRun || bodyAsksDryRun(body)
	}
	return nil
}

// bodyAsksDryRun reads DeleteOptions, in which clients ask for the dry run of a deletion.
func bodyAsksDryRun(body []byte) bool {
	var options metav1.DeleteOptions
	if raw, isProtobuf := bytes.CutPrefix(body, []byte(protobufMagic)); isProtobuf {
		var wrapped runtime.Unknown
		if wrapped.Unmarshal(raw) != nil || options.Unmarshal(wrapped.Raw) != nil {
			return false
		}
		return len(options.DryRun) > 0
	}
	return json.Unmarshal(body, &options) == nil && len(options.DryRun) > 0
}

func isUpgrade(r *http.Request) bool { return r.Header.Get("Upgrade") != "" }
