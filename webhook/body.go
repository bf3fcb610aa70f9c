package webhook

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// What an API server sends, and all that is taken.
const (
	apiVersion = "admission.k8s.io/v1"
	kind       = "AdmissionReview"
	mediaType  = "application/json"
)

const (
	// maxBody leaves room for two objects of 3 MiB, the most that an API server takes in a request (etcd keeps 1.5
	// MiB), and for what the review says about the request.
	maxBody = 8 << 20
	// smallBody is what nearly every review is below. Larger ones wait for their turn, see gate, which also counts in
	// chunks of that size.
	smallBody = 64 << 10
)

// fault is why a request isn't judged, in HTTP's words: mostly the caller's mistake.
type fault struct {
	code int
	text string
}

func (f *fault) Error() string { return f.text }

func faultf(code int, format string, args ...any) *fault {
	return &fault{code, fmt.Sprintf(format, args...)}
}

// read returns the review's request. Only a v1 AdmissionReview has one. What it takes is given back by the caller.
func read(w http.ResponseWriter, r *http.Request, taken *loan) (*admissionv1.AdmissionRequest, *fault) {
	if fault := checkHeader(r); fault != nil {
		return nil, fault
	}
	body, fault := readBody(w, r, taken)
	if fault != nil {
		return nil, fault
	}
	if len(body) > smallBody {
		if fault := taken.takePlace(r.Context()); fault != nil {
			return nil, fault
		}
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

// readBody takes memory as the body comes: what is announced is no more than a promise.
func readBody(w http.ResponseWriter, r *http.Request, taken *loan) ([]byte, *fault) {
	var body bytes.Buffer
	more := func() *fault { return taken.takeChunk(r.Context()) }
	_, err := body.ReadFrom(newMeter(http.MaxBytesReader(w, r.Body, maxBody), more))
	var tooMany *http.MaxBytesError
	var fault *fault
	switch {
	case errors.As(err, &fault):
		return nil, fault
	case errors.As(err, &tooMany):
		return nil, tooLarge()
	case err != nil:
		return nil, faultf(http.StatusBadRequest, "the body ended early: %s", shorten(err.Error(), maxErrorText))
	case body.Len() == 0:
		return nil, faultf(http.StatusBadRequest, "the body is empty: send an AdmissionReview")
	}
	return body.Bytes(), nil
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
