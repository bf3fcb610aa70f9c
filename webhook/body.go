package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// The only kind of request that is accepted: what an API server sends.
const (
	apiVersion = "admission.k8s.io/v1"
	kind       = "AdmissionReview"
	mediaType  = "application/json"
)

// maxBody has room for two objects of 3 MiB and the review's other fields. An API server accepts no larger object in a
// request; etcd stores 1.5 MiB.
const maxBody = 8 << 20

// fault is an HTTP error for a request that isn't judged. Mostly the caller made a mistake.
type fault struct {
	code int
	text string
}

func (f *fault) Error() string { return f.text }

func faultf(code int, format string, args ...any) *fault {
	return &fault{code, fmt.Sprintf(format, args...)}
}

// readRequest returns the request of a v1 AdmissionReview. The caller must give the loan back.
func readRequest(w http.ResponseWriter, r *http.Request, l *loan) (*admissionv1.AdmissionRequest, *fault) {
	if fault := checkHeader(r); fault != nil {
		return nil, fault
	}
	if fault := l.take(r.Context(), firstWeight(r.ContentLength)); fault != nil {
		return nil, fault
	}
	body, fault := readBody(w, r, l)
	if fault != nil {
		return nil, fault
	}
	weight := decodeWeight(body)
	if weight > maxDecodeWeight {
		return nil, faultf(http.StatusRequestEntityTooLarge,
			"the body has too many list elements and fields: decoded they would take more than %d MiB", maxDecodeWeight>>20)
	}
	if fault := l.take(r.Context(), weight); fault != nil {
		return nil, fault
	}
	return parse(body)
}

func checkHeader(r *http.Request) *fault {
	if r.Method != http.MethodPost {
		return faultf(http.StatusMethodNotAllowed, "method %q: reviews come by POST", shorten(r.Method, maxLogged))
	}
	header := r.Header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(header); err != nil || media != mediaType {
		return faultf(http.StatusUnsupportedMediaType, "content type %q: send %s", shorten(header, maxLogged), mediaType)
	}
	if r.ContentLength > maxBody {
		return tooLarge()
	}
	return nil
}

func tooLarge() *fault {
	return faultf(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", maxBody)
}

// firstWeight returns the memory that a request takes before its body is read. A body can't be longer than its header
// announces. Without a length in the header, announced is -1.
func firstWeight(announced int64) int64 {
	if announced < 0 || announced > chunkSize {
		announced = chunkSize
	}
	return requestWeight + bodyBuffers*announced
}

func readBody(w http.ResponseWriter, r *http.Request, l *loan) ([]byte, *fault) {
	l.beginReading(func() { _ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) })
	body, err := readChunks(r.Context(), http.MaxBytesReader(w, r.Body, maxBody), r.ContentLength, l)
	if !l.endReading() {
		return nil, tooMany()
	}
	var tooLong *http.MaxBytesError
	var fault *fault
	switch {
	case errors.As(err, &fault):
		return nil, fault
	case errors.As(err, &tooLong):
		return nil, tooLarge()
	case err != nil:
		return nil, faultf(http.StatusBadRequest, "the body ended early: %s", shorten(err.Error(), maxErrorText))
	case len(body) == 0:
		return nil, faultf(http.StatusBadRequest, "the body is empty: send an AdmissionReview")
	}
	return body, nil
}

// readChunks reads a body. Before it reads a chunk, it takes the chunk's memory; firstWeight counts the first chunk.
// The buffer begins with the announced size, or the size of a chunk if that is less: a buffer that grows would end up
// with twice its content's size, and leave as much garbage.
func readChunks(ctx context.Context, from io.Reader, announced int64, l *loan) ([]byte, error) {
	var body bytes.Buffer
	body.Grow(int(max(0, min(announced, chunkSize))) + bytes.MinRead)
	for {
		if body.Len() > 0 {
			if fault := l.take(ctx, bodyBuffers*chunkSize); fault != nil {
				return nil, fault
			}
		}
		if n, err := io.CopyN(&body, from, chunkSize); n < chunkSize {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return body.Bytes(), err
		}
	}
}

func parse(body []byte) (*admissionv1.AdmissionRequest, *fault) {
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, faultf(http.StatusBadRequest, "the body is no AdmissionReview: %s", shorten(err.Error(), maxErrorText))
	}
	if review.APIVersion != apiVersion || review.Kind != kind {
		return nil, faultf(http.StatusBadRequest, "the body is %q of %q: send %s of %s",
			shorten(review.Kind, maxLogged), shorten(review.APIVersion, maxLogged), kind, apiVersion)
	}
	if review.Request == nil || review.Request.UID == "" {
		return nil, faultf(http.StatusBadRequest, "the AdmissionReview has no request, or one without a uid")
	}
	return review.Request, nil
}
