package webhook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// newTestBudget returns a budget of the given size, whose requests wait for memory for a minute.
func newTestBudget(kib int64) *budget {
	b := newBudget()
	b.size, b.wait = kib<<10, time.Minute
	return b
}

// holding opens a loan, and takes the given amount of memory. If the loan is cut off, the channel is closed.
func holding(t *testing.T, b *budget, from string, kib int64) (*loan, chan struct{}) {
	t.Helper()
	l, cut := b.open(from), make(chan struct{})
	for taken := int64(0); taken < kib; taken += 512 {
		if fault := l.take(t.Context(), min(512, kib-taken)<<10); fault != nil {
			t.Fatal(fault)
		}
	}
	l.beginReading(func() { close(cut) })
	return l, cut
}

// inBackground takes memory in the background, and sends the result.
func inBackground(t *testing.T, l *loan, kib int64) <-chan *fault {
	done := make(chan *fault, 1)
	go func() { done <- l.take(t.Context(), kib<<10) }()
	return done
}

func awaitWaiting(t *testing.T, b *budget, want int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		waiting := len(b.waiters)
		b.mu.Unlock()
		if waiting == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d requests wait, want %d", waiting, want)
		}
	}
}

func TestSenderThatHoldsMostLosesStalledRequests(t *testing.T) {
	b := newTestBudget(100)
	small, smallCut := holding(t, b, "pod-1", 20)
	large, largeCut := holding(t, b, "pod-2", 50)
	other, otherCut := holding(t, b, "pod-2", 30)
	done := inBackground(t, b.open("api-server"), 10)
	<-largeCut
	if large.endReading() {
		t.Error("the loan of a cut-off request doesn't say so")
	}
	large.giveBack()
	if fault := <-done; fault != nil {
		t.Errorf("the API server's request was refused: %v", fault)
	}
	for name, cut := range map[string]chan struct{}{"the smaller request": otherCut,
		"the smaller sender's request": smallCut} {
		select {
		case <-cut:
			t.Errorf("%s was cut off", name)
		default:
		}
	}
	if !small.endReading() || !other.endReading() {
		t.Error("the loan of another request says that it was cut off")
	}
}

func TestSenderThatHoldsMostWaitsForItsOwnRequests(t *testing.T) {
	b := newTestBudget(100)
	mine, cut := holding(t, b, "pod", 100)
	done := inBackground(t, b.open("pod"), 10)
	awaitWaiting(t, b, 1)
	select {
	case <-cut:
		t.Error("the sender's own request was cut off")
	default:
	}
	mine.giveBack()
	if fault := <-done; fault != nil {
		t.Errorf("refused: %v", fault)
	}
}

func TestSenderThatHoldsLeastGetsMemoryFirst(t *testing.T) {
	b := newTestBudget(100)
	judged, _ := holding(t, b, "pod", 80)
	judged.endReading() // its body has arrived, so the request can't be cut off
	holding(t, b, "pod", 20)
	first := inBackground(t, b.open("pod"), 30)
	awaitWaiting(t, b, 1)
	second := inBackground(t, b.open("api-server"), 60)
	awaitWaiting(t, b, 2)
	judged.giveBack()
	if fault := <-second; fault != nil {
		t.Errorf("the API server's request was refused: %v", fault)
	}
	select {
	case fault := <-first:
		t.Errorf("the pod's request got memory first: %v", fault)
	default:
	}
	awaitWaiting(t, b, 1)
}

func TestSmallRequestDoesNotWaitForLargeOne(t *testing.T) {
	b := newTestBudget(32 << 10)
	judged, _ := holding(t, b, "pod", 20<<10)
	judged.endReading()
	inBackground(t, b.open("api-server"), 10<<10) // it would fit only with the reserve
	awaitWaiting(t, b, 1)
	if fault := <-inBackground(t, b.open("api-server"), 512); fault != nil {
		t.Errorf("refused: %v", fault)
	}
	awaitWaiting(t, b, 1)
}

func TestFewRequestsWait(t *testing.T) {
	b := newTestBudget(500)
	all, _ := holding(t, b, "pod-0", 500)
	all.endReading()
	for i := range maxWaitingOfSender {
		inBackground(t, b.open("pod-1"), 1)
		awaitWaiting(t, b, i+1)
	}
	if fault := <-inBackground(t, b.open("pod-1"), 1); fault == nil {
		t.Error("a sender has too many waiting requests")
	}
	for i := maxWaitingOfSender; i < maxWaiting; i++ {
		inBackground(t, b.open(fmt.Sprintf("pod-%d", 2+i/maxWaitingOfSender)), 1)
		awaitWaiting(t, b, i+1)
	}
	api := inBackground(t, b.open("api-server"), 1)
	awaitWaiting(t, b, maxWaiting)
	all.giveBack() // all waiters get memory
	if fault := <-api; fault != nil {
		t.Errorf("the API server's request was refused, although its sender has fewer waiting requests: %v", fault)
	}
	awaitWaiting(t, b, 0)
}

func TestWaitingRequestIsCutOff(t *testing.T) {
	b := newTestBudget(100)
	l, _ := holding(t, b, "pod", 100)
	done := inBackground(t, l, 1)
	awaitWaiting(t, b, 1)
	inBackground(t, b.open("api-server"), 1)
	if fault := <-done; fault == nil || fault.code != http.StatusServiceUnavailable {
		t.Errorf("the request gets %v", fault)
	}
	l.giveBack()
	awaitWaiting(t, b, 0)
}

// budgeted is a handler with a budget that the test can read.
type budgeted struct {
	*handler
	logs *bytes.Buffer
}

func newBudgeted(t *testing.T) budgeted {
	t.Helper()
	logs, budget := &bytes.Buffer{}, newBudget()
	budget.wait = 10 * time.Millisecond
	return budgeted{&handler{
		lang: testLanguage(t), log: newLog(zapcore.InfoLevel, logs), metrics: newMetrics(prometheus.NewRegistry()),
		budget: budget,
	}, logs}
}

// post sends a body and returns the status code. announced is the length in the header; -1 means none.
func (g budgeted) post(body io.Reader, announced int64) int {
	r := httptest.NewRequest(http.MethodPost, Path, body)
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = announced
	w := httptest.NewRecorder()
	g.recovering(g).ServeHTTP(w, r)
	return w.Code
}

func TestRequestGivesItsMemoryBack(t *testing.T) {
	g := newBudgeted(t)
	for name, body := range map[string]io.Reader{
		"a valid review":     bytes.NewReader(sized(t, 1<<20)),
		"a too large body":   strings.NewReader(strings.Repeat(" ", maxBody+1)),
		"no review":          strings.NewReader(strings.Repeat(" ", 1<<20)),
		"a cut-off body":     io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), &failing{}),
		"a body that panics": io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), &panicking{}),
	} {
		g.post(body, -1)
		if g.budget.held != 0 || len(g.budget.senders) > 0 {
			t.Errorf("%s keeps %d bytes", name, g.budget.held)
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("lost") }

// stalled sends some bytes, closes a channel, and sends nothing more until the test ends.
type stalled struct {
	io.Reader
	sent chan struct{}
	over <-chan struct{}
}

func (s *stalled) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		close(s.sent)
		<-s.over
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// TestStalledBodyHoldsWhatHasArrived announces more than it sends. The request must hold the memory of the chunks that
// have arrived, and of the chunk that it waits for.
func TestStalledBodyHoldsWhatHasArrived(t *testing.T) {
	for size, chunks := range map[int]int64{0: 1, 1000: 1, chunkSize: 2, 3*chunkSize + 2: 4} {
		g := newBudgeted(t)
		over, ended := make(chan struct{}), make(chan int)
		body := &stalled{bytes.NewReader(make([]byte, size)), make(chan struct{}), over}
		go func() { ended <- g.post(body, maxBody) }()
		<-body.sent
		g.budget.mu.Lock()
		held := g.budget.held
		g.budget.mu.Unlock()
		if want := requestWeight + bodyBuffers*chunks*chunkSize; held != want {
			t.Errorf("%d bytes hold %d, want %d", size, held, want)
		}
		close(over)
		if code := <-ended; code != http.StatusBadRequest {
			t.Errorf("the request ends with code %d", code)
		}
	}
}

func TestRefusalForLackOfMemoryIsLoggedOnce(t *testing.T) {
	g := newBudgeted(t)
	for rush := range 2 {
		l, _ := holding(t, g.budget, "192.0.2.1", g.budget.size>>10)
		for range 3 {
			if code := g.post(bytes.NewReader(sized(t, 10)), -1); code != http.StatusServiceUnavailable {
				t.Fatalf("code %d", code)
			}
		}
		l.giveBack()
		g.post(bytes.NewReader(sized(t, 10)), -1)
		if lines := strings.Count(g.logs.String(), "\n"); lines != rush+1 {
			t.Errorf("%d lines after rush %d:\n%s", lines, rush, g.logs)
		}
	}
	if got := testutil.ToFloat64(g.metrics.failures.WithLabelValues("503")); got != 6 {
		t.Errorf("counted %v", got)
	}
}

// TestDecodeWeightIsEnough compares the estimate with the memory of a decoded review, for bodies that take much more
// memory than their length.
func TestDecodeWeightIsEnough(t *testing.T) {
	good := string(body(t, request(t, nil, channel(nil))))
	in := func(place, text string) []byte { return []byte(strings.Replace(good, place, place+text, 1)) }
	const count = 20_000
	for name, body := range map[string][]byte{
		"ports without names": in(`"ports":[`, strings.Repeat("{},", count)),
		"managed fields":      in(`"metadata":{`, `"managedFields":[`+strings.Repeat("{},", count)+`{}],`),
		"owners":              in(`"metadata":{`, `"ownerReferences":[`+strings.Repeat("{},", count)+`{}],`),
		"groups":              in(`"userInfo":{`, `"groups":[`+strings.Repeat(`"",`, count)+`""],`),
		"annotations":         in(`"annotations":{`, manyFields(count)),
		"labels":              in(`"metadata":{`, `"labels":{`+strings.TrimSuffix(manyFields(count), ",")+`},`),
		"long values":         sized(t, 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			req, fault := parse(body)
			if fault != nil {
				t.Fatal(fault)
			}
			answer := Review(testLanguage(t), req)
			svc, err := decode(req.Object)
			if err != nil {
				t.Fatal(err)
			}
			text := marshal(t, answer.Response)
			runtime.GC()
			runtime.ReadMemStats(&after)
			runtime.KeepAlive([]any{req, answer, svc, text})
			held, weight := int64(after.HeapAlloc)-int64(before.HeapAlloc), requestWeight+decodeWeight(body)
			t.Logf("%d bytes hold %d KiB, estimated %d KiB", len(body), held>>10, weight>>10)
			if held > weight {
				t.Errorf("%d bytes hold %d KiB, estimated %d KiB", len(body), held>>10, weight>>10)
			}
		})
	}
}

func manyFields(count int) string {
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, `"%x":"",`, i)
	}
	return b.String()
}

func TestBodyWithTooManyElementsIsRefused(t *testing.T) {
	g := newBudgeted(t)
	good := string(body(t, request(t, nil, channel(nil))))
	many := strings.Replace(good, `"ports":[`, `"ports":[`+strings.Repeat("{},", 100_000), 1)
	if code := g.post(strings.NewReader(many), -1); code != http.StatusRequestEntityTooLarge {
		t.Errorf("code %d", code)
	}
}

// TestLargestRealReviewIsJudged reviews a change of a mux with 10,000 ports that two field managers applied.
func TestLargestRealReviewIsJudged(t *testing.T) {
	svc := channel(func(svc *corev1.Service) {
		svc.Spec.Ports = nil
		var fields strings.Builder
		for i := range 10_000 {
			svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{
				Name: fmt.Sprintf("%020x", i), Protocol: "TCP", Port: int32(i + 1), NodePort: int32(i + 1),
			})
			fmt.Fprintf(&fields,
				`"k:{\"port\":%d,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{},"f:targetPort":{}},`, i+1)
		}
		managed := []byte(`{"f:spec":{"f:ports":{` + strings.TrimSuffix(fields.String(), ",") + `}}}`)
		svc.ManagedFields = managedBy(managed, "helm", "reconciler")
	})
	if code := newBudgeted(t).post(bytes.NewReader(body(t, request(t, svc, svc))), -1); code != http.StatusOK {
		t.Errorf("code %d", code)
	}
}

func managedBy(fields []byte, managers ...string) []metav1.ManagedFieldsEntry {
	entries := make([]metav1.ManagedFieldsEntry, 0, len(managers))
	for _, manager := range managers {
		entries = append(entries, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(string(fields)),
		})
	}
	return entries
}
