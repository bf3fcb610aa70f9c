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
)

// FuzzRequest sends any request that net/http can read to all that is served: each is answered; by a review only if it asks for
// one where, how and as large as reviews may be, and else in the words of HTTP. Each gives its memory back to the budget.
//
// After the body come blanks, so that it can be large. Its length is as announced, or announced otherwise, or not at all: in chunks.
func FuzzRequest(f *testing.F) {
	good := body(f, request(f, nil, channel(nil)))
	denied := body(f, request(f, nil, annotated("external-ports", "http:0")))
	for _, text := range [][]byte{good, denied, {}, []byte("[["), []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"\ud800"}}`)} {
		f.Add("POST", Path, "application/json", "Accept: application/json", text, uint32(0), int64(asItIs), false)
	}
	f.Add("POST", Path, "application/json; charset=utf-8", "", denied, uint32(chunkSize), int64(inChunks), true)
	f.Add("POST", Path, "application/json", "Expect: 100-continue", good, uint32(maxBody), int64(inChunks), false)
	f.Add("POST", Path, "application/json", "", good, uint32(0), int64(len(good)+1), false)
	f.Add("POST", Path, "application/json", "", good, uint32(0), int64(maxBody+1), false)
	f.Add("POST", Path, "application/json", "Content-Encoding: gzip\r\nTransfer-Encoding: gzip", good, uint32(0), int64(3), true)
	f.Add("POST", Path, "application/json\r\nContent-Type: text/plain", "Connection: close", good, uint32(0), int64(asItIs), false)
	f.Add("POST", Path, "text/plain", "", good, uint32(0), int64(asItIs), false)
	f.Add("POST", Path, ";;", "", good, uint32(0), int64(asItIs), true)
	f.Add("GET", Path, "application/json", "", good, uint32(0), int64(asItIs), false)
	f.Add("CONNECT", Path, "application/json", "", good, uint32(0), int64(asItIs), false)
	for _, target := range []string{"/", Path + "/", "/" + Path, "/%76alidate", Path + "?timeout=5s", "*", "http://other" + Path, "/a/.." + Path} {
		f.Add("POST", target, "application/json", "", good, uint32(0), int64(asItIs), false)
	}

	h := &handler{lang: testLanguage(f), log: zap.NewNop(), metrics: newMetrics(prometheus.NewRegistry()), budget: newBudget()}
	f.Fuzz(func(t *testing.T, method, target, media, header string, text []byte, blanks uint32, announced int64, draining bool) {
		head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: webhook\r\nContent-Type: %s\r\n%s", method, target, media, header)
		wire := spoken(head, text, int64(min(blanks, maxBody+2)), announced)
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(wire)))
		if err != nil {
			return // which net/http answers itself
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
			t.Fatalf("%d bytes of the budget are kept", h.budget.held)
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

// How a body's length is announced; what isn't negative is what is announced.
const (
	asItIs   = -1
	inChunks = -2
)

// spoken is a request as it comes over the wire.
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

// checkAnswered reads a request once more, and compares with what it says of itself.
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
			t.Errorf("it doesn't say which method is allowed: %v", w.Header())
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
	if err := json.Unmarshal(w.Body.Bytes(), &review); err != nil || w.Code != http.StatusOK || w.Header().Get("Content-Type") != mediaType {
		t.Fatalf("a review is answered by code %d, %v: %s", w.Code, err, w.Body)
	}
	checkAnswer(t, review)
	var asked map[string]any
	_ = json.Unmarshal(text, &asked)
	request, _ := asked["request"].(map[string]any)
	if uid, _ := request["uid"].(string); uid != "" && uid != string(review.Response.UID) {
		t.Errorf("the review %q is answered by %q", uid, review.Response.UID)
	}
}

// checkRefused: whoever isn't judged is told why, in a line of text.
func checkRefused(t *testing.T, w *httptest.ResponseRecorder, code int) {
	t.Helper()
	said := w.Body.String()
	if w.Code != code || strings.TrimSpace(said) == "" || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Errorf("refused by %d %v, not %d: %q", w.Code, w.Header(), code, said)
	}
	if len(said) > longestRefusal {
		t.Errorf("what is refused is quoted at length, in %d bytes", len(said))
	}
}

// longestRefusal has room for two quotes, of which each character may be escaped.
const longestRefusal = 10 * (2*maxLogged + maxErrorText)
