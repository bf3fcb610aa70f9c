package webhook

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	admissionv1 "k8s.io/api/admission/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

// FuzzRequest sends any request that net/http can parse to all handlers. Each must be answered: with a review only if
// path, method, media type and size are those of a review, and otherwise with an HTTP error. Each must return its
// memory to the budget.
//
// Blanks follow the body, so that it can be large. The announced length is right or wrong. A body in chunks has none.
func FuzzRequest(f *testing.F) {
	golden.Seeds(f)
	good := body(f, request(f, nil, channel(nil)))
	denied := body(f, request(f, nil, annotated("external-ports", "http:0")))
	for _, text := range [][]byte{good, denied, {}, []byte("[["),
		[]byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"\ud800"}}`)} {
		f.Add("POST", Path, "application/json", "Accept: application/json", text, uint32(0), int64(asItIs), false)
	}
	f.Add("POST", Path, "application/json; charset=utf-8", "", denied, uint32(chunkSize), int64(inChunks), true)
	f.Add("POST", Path, "application/json", "Expect: 100-continue", good, uint32(maxBody), int64(inChunks), false)
	f.Add("POST", Path, "application/json", "", good, uint32(0), int64(len(good)+1), false)
	f.Add("POST", Path, "application/json", "", good, uint32(0), int64(maxBody+1), false)
	f.Add("POST", Path, "application/json", "Content-Encoding: gzip\r\nTransfer-Encoding: gzip", good, uint32(0), int64(3),
		true)
	f.Add("POST", Path, "application/json\r\nContent-Type: text/plain", "Connection: close", good, uint32(0),
		int64(asItIs), false)
	f.Add("POST", Path, "text/plain", "", good, uint32(0), int64(asItIs), false)
	f.Add("POST", Path, ";;", "", good, uint32(0), int64(asItIs), true)
	f.Add("GET", Path, "application/json", "", good, uint32(0), int64(asItIs), false)
	f.Add("CONNECT", Path, "application/json", "", good, uint32(0), int64(asItIs), false)
	for _, target := range []string{"/", Path + "/", "/" + Path, "/%76alidate", Path + "?timeout=5s", "*", "http://other" +
		Path, "/a/.." + Path} {
		f.Add("POST", target, "application/json", "", good, uint32(0), int64(asItIs), false)
	}

	h := &handler{lang: testLanguage(f), log: zap.NewNop(), metrics: newMetrics(prometheus.NewRegistry()),
		budget: newBudget()}
	f.Fuzz(func(t *testing.T, method, target, media, header string, text []byte, blanks uint32, announced int64,
		draining bool) {
		head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: webhook\r\nContent-Type: %s\r\n%s", method, target, media, header)
		wire := spoken(head, text, int64(min(blanks, maxBody+2)), announced)
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(wire)))
		if err != nil {
			return // net/http answers such requests itself
		}
		reached := false
		state := &state{}
		state.draining.Store(draining)
		w := httptest.NewRecorder()
		state.closeIfDraining(routes(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			reached = true
			h.recovering(h).ServeHTTP(w, r)
		}))).ServeHTTP(w, r)

		if h.budget.held != 0 || len(h.budget.senders) > 0 {
			t.Fatalf("%d bytes of the budget aren't returned", h.budget.held)
		}
		if closes := w.Header().Get("Connection") == "close"; closes != draining && r.RequestURI != "*" {
			t.Errorf("closes: %t, draining: %t", closes, draining)
		}
		if reached || r.URL.Path == Path && r.URL.RawPath == "" && r.RequestURI != "*" {
			checkAnswered(t, wire, w)
			return
		}
		if w.Code < 300 || w.Code > 499 {
			t.Errorf("%s of %q has code %d", r.Method, r.RequestURI, w.Code)
		}
	})
}

// How a body's length is announced. Other values are the announced length.
const (
	asItIs   = -1
	inChunks = -2
)

// spoken returns the bytes of a request on the wire.
func spoken(head string, text []byte, blanks, announced int64) []byte {
	var wire bytes.Buffer
	wire.WriteString(strings.TrimRight(head, "\r\n") + "\r\n")
	to, last := io.Writer(&wire), ""
	if announced == inChunks {
		wire.WriteString("Transfer-Encoding: chunked\r\n\r\n")
		to, last = httputil.NewChunkedWriter(&wire), "0\r\n\r\n"
	} else {
		if announced < 0 {
			announced = int64(len(text)) + blanks
		}
		wire.WriteString("Content-Length: " + strconv.FormatInt(announced, 10) + "\r\n\r\n")
	}
	_, _ = to.Write(text)
	for ; blanks > 0; blanks -= chunkSize {
		_, _ = to.Write(bytes.Repeat([]byte(" "), int(min(blanks, chunkSize))))
	}
	wire.WriteString(last)
	return wire.Bytes()
}

// checkAnswered parses the request again, and compares the answer with what the request needs.
func checkAnswered(t *testing.T, wire []byte, w *httptest.ResponseRecorder) {
	t.Helper()
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(wire)))
	if err != nil {
		t.Fatal(err)
	}
	text, broken := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	media, _, unheard := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.Method != http.MethodPost:
		checkRefused(t, w, http.StatusMethodNotAllowed)
		if w.Header().Get("Allow") != http.MethodPost {
			t.Errorf("the answer doesn't name the allowed method: %v", w.Header())
		}
		return
	case unheard != nil || media != mediaType:
		checkRefused(t, w, http.StatusUnsupportedMediaType)
		return
	case r.ContentLength > maxBody || len(text) > maxBody:
		checkRefused(t, w, http.StatusRequestEntityTooLarge)
		return
	case broken != nil:
		checkRefused(t, w, http.StatusBadRequest)
		return
	}
	text = bytes.TrimRight(text, " ")
	if _, fault := parse(text); fault != nil {
		checkRefused(t, w, http.StatusBadRequest)
		return
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &review); err != nil || w.Code != http.StatusOK ||
		w.Header().Get("Content-Type") != mediaType {
		t.Fatalf("the answer to a review has code %d, %v: %s", w.Code, err, w.Body)
	}
	checkAnswer(t, review)
	var asked map[string]any
	_ = json.Unmarshal(text, &asked)
	request, _ := asked["request"].(map[string]any)
	if uid, _ := request["uid"].(string); uid != "" && uid != string(review.Response.UID) {
		t.Errorf("the answer to review %q has the UID %q", uid, review.Response.UID)
	}
}

// checkRefused checks that a refused request gets the reason, as a line of text.
func checkRefused(t *testing.T, w *httptest.ResponseRecorder, code int) {
	t.Helper()
	said := w.Body.String()
	if w.Code != code || strings.TrimSpace(said) == "" ||
		!strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Errorf("refused with %d %v, want %d: %q", w.Code, w.Header(), code, said)
	}
	if len(said) > longestRefusal {
		t.Errorf("the refusal quotes too much: %d bytes", len(said))
	}
}

// longestRefusal has room for two quotes whose characters are all escaped.
const longestRefusal = 10 * (2*maxLogged + maxErrorText)
