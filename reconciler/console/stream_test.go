package console

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// told is an event as a page gets it.
type told struct{ event, data string }

// listen opens a stream, and returns its events.
func listen(t *testing.T, server *httptest.Server) <-chan told {
	t.Helper()
	response, err := server.Client().Get(server.URL + "/api/stream")
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s: %s", response.Status, response.Header)
	}
	t.Cleanup(func() { response.Body.Close() })
	events := make(chan told, 100)
	go func() {
		defer close(events)
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 1<<20)
		var next told
		for lines.Scan() {
			switch line := lines.Text(); {
			case strings.HasPrefix(line, "event: "):
				next.event = line[len("event: "):]
			case strings.HasPrefix(line, "data: "):
				next.data = line[len("data: "):]
			case line == "" && next.event != "":
				events <- next
				next = told{}
			}
		}
	}()
	return events
}

// await returns the next event of a kind.
func await(t *testing.T, events <-chan told, kind string) string {
	t.Helper()
	for {
		select {
		case next, open := <-events:
			if !open {
				t.Fatalf("the stream ended before %q came", kind)
			}
			if next.event == kind {
				return next.data
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("no event %q", kind)
		}
	}
}

func serve(t *testing.T, k *kit) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(k.handler)
	t.Cleanup(server.Close)
	go func() { _ = k.hub.Start(t.Context()) }()
	return server
}

func TestStreamSendsOnlyDifferences(t *testing.T) {
	k := newKit(t)
	k.channel("web")
	server := serve(t, k)
	events := listen(t, server)
	var first difference
	decode(t, await(t, events, "mux"), &first)
	if !first.Whole || names(first.Changed) != "web" {
		t.Errorf("first: whole %t, %s", first.Whole, names(first.Changed))
	}
	await(t, events, "ready")

	k.channel("yet-another")
	var next difference
	decode(t, await(t, events, "mux"), &next)
	if next.Whole || names(next.Changed) != "yet-another" || next.Revision <= first.Revision {
		t.Errorf("then: whole %t, %s, revision %d after %d", next.Whole, names(next.Changed), next.Revision, first.Revision)
	}

	k.desk.mu.Lock()
	delete(k.services, types.NamespacedName{Namespace: "shop", Name: "web"})
	k.desk.mu.Unlock()
	k.hub.changed(muxKey)
	var last difference
	decode(t, await(t, events, "mux"), &last)
	if !slices.Equal(last.Removed, []string{"shop/web"}) {
		t.Errorf("at last: removed %v", last.Removed)
	}

	k.hub.Timeline.Events(silence{}).Event(&corev1.Service{}, corev1.EventTypeWarning, "Something", "happened")
	if said := await(t, events, "timeline"); !strings.Contains(said, "Something") {
		t.Errorf("the timeline is %s", said)
	}
}

func TestMuxesAreReadOnlyWhileAPageIsOpen(t *testing.T) {
	k := newKit(t)
	server := serve(t, k)
	events := listen(t, server)
	await(t, events, "ready")
	server.CloseClientConnections()
	for k.hub.hasListeners() {
		time.Sleep(time.Millisecond)
	}
	before := k.looked()
	for range 5 {
		k.channel("web")
		time.Sleep(settle)
	}
	if after := k.looked(); after > before+1 { // one read may have been under way
		t.Errorf("%d reads without an open page", after-before)
	}
}

// TestMissingMuxesAreForgottenWithoutAPage uses channels that name missing muxes, whose number is unbounded. Muxes that
// were shown, and have changed meanwhile, aren't forgotten.
func TestMissingMuxesAreForgottenWithoutAPage(t *testing.T) {
	k := newKit(t)
	serve(t, k)
	k.ask("GET", "/api/state")
	k.channel("web")
	k.hub.changed(muxKey)
	for i := range 1000 {
		k.hub.changed(types.NamespacedName{Namespace: "made-up", Name: strconv.Itoa(i)})
	}
	known := func() int {
		k.hub.mu.Lock()
		defer k.hub.mu.Unlock()
		return len(k.hub.dirty)
	}
	for end := time.Now().Add(3 * heartbeat); known() > 1 && time.Now().Before(end); {
		time.Sleep(settle)
	}
	if known() != 1 {
		t.Errorf("%d muxes are remembered", known())
	}
	if got := k.ask("GET", "/api/state"); !strings.Contains(got.Body.String(), `"web"`) {
		t.Errorf("a change without an open page isn't shown: %s", got.Body)
	}
}

func TestUnchangedMuxIsReadOnce(t *testing.T) {
	k := newKit(t)
	for range 5 {
		if got := k.ask("GET", "/api/state"); got.Code != 200 {
			t.Fatal(got.Body)
		}
	}
	if k.looked() != 1 {
		t.Errorf("%d reads, want 1", k.looked())
	}
	k.pass(maxAge)
	k.ask("GET", "/api/state")
	if k.looked() != 2 {
		t.Error("the mux isn't read again after a while")
	}
}

func TestOpenPagesAreBounded(t *testing.T) {
	k := newKit(t)
	for range maxListeners {
		k.hub.addListener()
	}
	if got := k.ask("GET", "/api/stream"); got.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d", got.Code)
	}
}

func TestSlowListenerIsDisconnected(t *testing.T) {
	k := newKit(t)
	l, _ := k.hub.addListener()
	for range backlog + 1 {
		k.hub.send(nil)
	}
	select {
	case <-l.gone:
	default:
		t.Error("the stream waits for a slow listener")
	}
}

func TestStateListsMuxesAndChannels(t *testing.T) {
	k := newKit(t)
	k.channel("web")
	k.channel("</script><script>alert(1)</script>")
	got := k.ask("GET", "/api/state")
	var state struct {
		Schema string
		Muxes  []struct {
			Channels []struct{ Name, State string }
		}
		Leader bool
	}
	decode(t, got.Body.String(), &state)
	if state.Schema != "svc-lb-mux/console/v1" || !state.Leader || len(state.Muxes) != 1 ||
		len(state.Muxes[0].Channels) != 2 {
		t.Errorf("%s", got.Body)
	}
	if strings.Contains(got.Body.String(), "<script>") {
		t.Error("the state contains markup that a browser could run")
	}
}

func TestInvalidRequests(t *testing.T) {
	for name, tc := range map[string]struct {
		path   string
		status int
	}{
		"why, without a Service":    {"/api/why", 400},
		"why, without a namespace":  {"/api/why?service=web", 400},
		"why, without a name":       {"/api/why?service=shop/", 400},
		"why, with a long name":     {"/api/why?service=shop/" + strings.Repeat("x", 600), 400},
		"why, of a missing Service": {"/api/why?service=shop/none", 200},
		"a missing page":            {"/nothing", 404},
		"a file of the sources":     {"/server.go", 404},
	} {
		t.Run(name, func(t *testing.T) {
			if got := newKit(t).ask("GET", tc.path); got.Code != tc.status {
				t.Errorf("status %d, want %d", got.Code, tc.status)
			}
		})
	}
}

func TestReadErrorIsShown(t *testing.T) {
	k := newKit(t)
	k.broken = true
	for _, path := range []string{"/api/state", "/api/topology", "/api/stream", "/api/why?service=shop/web"} {
		if got := k.ask("GET", path); got.Code != http.StatusInternalServerError ||
			strings.Contains(got.Body.String(), "broken") {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	k.broken = false
	if got := k.ask("GET", "/api/state"); got.Code != 200 {
		t.Error("the console doesn't recover from the error")
	}
}

func names(channels []json.RawMessage) string {
	var list []string
	for _, text := range channels {
		var channel struct{ Name string }
		if json.Unmarshal(text, &channel) == nil {
			list = append(list, channel.Name)
		}
	}
	return strings.Join(list, ",")
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}
