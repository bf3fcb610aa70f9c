package console

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/reconciler/console/view"
)

// FuzzWhy asks about any Service: the name of an existing one gets its chain, and other names a hint.
func FuzzWhy(f *testing.F) {
	golden.Seeds(f)
	for _, query := range []string{
		"service=shop/web", "service=svc-mux/mux", "service=shop%2fweb", "service=a/b/c", "service=/a", "service=a/",
		"service=", "", "service=shop/web&service=x", "Service=a/b", "service=%ff/%00", "service=%3Cscript%3E/%e2%80%ae",
		";service=a/b", "service=%zz",
		"service=" + strings.Repeat("a", 300) + "/" + strings.Repeat("b", 213),
	} {
		f.Add(query)
	}
	p := newPlayed(f)
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/api/why", nil)
		r.URL.RawQuery = query
		w := p.serve(t, r)
		values, _ := url.ParseQuery(query)
		namespace, name, _ := strings.Cut(values.Get("service"), "/")
		if good := namespace != "" && name != "" && len(namespace)+len(name) <= 512; good != (w.Code == http.StatusOK) ||
			!good && w.Code != http.StatusBadRequest {
			t.Fatalf("%q of %q: %d: %s", name, namespace, w.Code, w.Body)
		}
		if w.Code == http.StatusOK {
			checkChain(t, w.Body.Bytes(), types.NamespacedName{Namespace: namespace, Name: name}, p.kinds())
		}
	})
}

// kinds returns the kinds of all Services.
func (p *played) kinds() map[types.NamespacedName]string {
	kinds := map[types.NamespacedName]string{}
	for key, svc := range p.services {
		kinds[key] = p.language.Classify(svc).String()
	}
	return kinds
}

func checkChain(t *testing.T, text []byte, key types.NamespacedName, kinds map[types.NamespacedName]string) {
	t.Helper()
	var chain view.Chain
	if err := json.Unmarshal(text, &chain); err != nil {
		t.Fatal(err)
	}
	want, there := kinds[key]
	if !there {
		want = "absent"
	}
	if named := chain.Namespace == key.Namespace && chain.Name == key.Name; chain.Schema != view.Schema ||
		chain.Kind != want || !named && utf8.ValidString(key.String()) {
		t.Errorf("%s is %s, want %s", key, text, want)
	}
	broken := slices.ContainsFunc(chain.Links, func(l view.Link) bool { return l.State != "ok" && l.State != "warn" })
	if len(chain.Links) == 0 || chain.Whole == broken || chain.Kind != "mux" && len(chain.Links) != 9 {
		t.Errorf("whole %v, links %+v", chain.Whole, chain.Links)
	}
}

// FuzzShown shows any Service, also one that no API server would store. The state is complete, and each event of a
// stream has two lines.
func FuzzShown(f *testing.F) {
	golden.Seeds(f)
	p := newPlayed(f)
	for _, svc := range p.services {
		text, err := json.Marshal(svc)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add(
		[]byte(
			`{"metadata":{"name":"<a>\n\ndata: x","namespace":"s",
				"annotations":{"svc-mux.nowake.ai/external-ports":"http:20001,a:0","svc-mux.nowake.ai/hostname":"\u2028"}},
		"spec":{"type":"LoadBalancer","loadBalancerClass":"svc-mux.nowake.ai/mux.svc-mux",
		"ports":[{"name":"http","port":80},{"port":70000,"protocol":"x"},{"name":"http","port":-1}]},
		"status":{"loadBalancer":{"ingress":[{"hostname":"\n"}]},"conditions":[{"type":"\n","status":"True"}]}}`))
	f.Add(
		[]byte(
			`{"metadata":{"name":"b","namespace":"s"},"spec":{"type":"LoadBalancer",` +
				`"loadBalancerClass":"svc-mux.nowake.ai/no.such.mux"}}`))
	f.Add(
		[]byte(
			`{"metadata":{"name":"b","namespace":"s"},"spec":{"type":"ExternalName","externalName":"x",` +
				`"loadBalancerClass":""}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		svc := &corev1.Service{}
		if json.Unmarshal(text, svc) != nil || svc.Namespace == "" || svc.Name == "" || strings.Contains(svc.Namespace, "/") {
			return
		}
		key := types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
		was := p.services[key]
		p.put(svc)
		defer func() {
			if delete(p.services, key); was != nil {
				p.services[key] = was
			}
		}()
		p.pass(maxAge)
		for _, path := range []string{"/api/state", "/api/topology", "/api/stream", "/api/why?service=" +
			url.QueryEscape(key.String())} {
			w := p.serve(t, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
			switch {
			case w.Code != http.StatusOK && len(key.String()) < 512:
				t.Errorf("%s: %d: %s", path, w.Code, w.Body)
			case path == "/api/state":
				checkState(t, w.Body.Bytes(), p.kinds())
			case path == "/api/stream":
				checkFrames(t, w.Body.String())
			case strings.HasPrefix(path, "/api/why") && w.Code == http.StatusOK:
				checkChain(t, w.Body.Bytes(), key, p.kinds())
			}
		}
	})
}

// checkState checks that the state has every channel.
func checkState(t *testing.T, text []byte, kinds map[types.NamespacedName]string) {
	t.Helper()
	var state view.State
	if err := json.Unmarshal(text, &state); err != nil || len(state.Muxes) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	shown := len(state.Muxes[0].Channels)
	for key, kind := range kinds {
		if key != muxKey && (kind == "channel" || kind == "both") {
			shown--
		}
	}
	if shown != 0 {
		t.Errorf("%d surplus channels: %s", shown, text)
	}
}

func checkFrames(t *testing.T, stream string) {
	t.Helper()
	for event := range strings.SplitSeq(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		name, data, _ := strings.Cut(event, "\n")
		value, found := strings.CutPrefix(data, "data: ")
		if !strings.HasPrefix(name, "event: ") || !found || strings.ContainsAny(data, "\r\n") || !json.Valid([]byte(value)) {
			t.Errorf("not an event: %q", event)
		}
	}
}
