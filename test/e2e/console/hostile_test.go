package console

import (
	"fmt"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/test/browser"
)

// TestHostileWords writes scripts into every text field of the API, and checks every page that shows them.
func TestHostileWords(t *testing.T) {
	t.Parallel()
	w := start(t)
	r := w.reconcile(t)
	evil := func(where string) string {
		return fmt.Sprintf(`<img src=x onerror="window.pwned='%s'"><script>window.pwned='%s'</script>`, where, where)
	}
	w.mux(t, "edge")
	w.mux(t, "range", annotated("port-range", evil("range")))
	w.mux(t, "names", annotated("allowed-namespaces", evil("namespaces")))
	w.mux(t, "hosts", annotated("allowed-hostnames", evil("hostnames")), annotated("channels", evil("channels")),
		annotated("summary", evil("summary")))
	w.mux(t, "ledger", annotated("allocation-configmap", evil("ledger")))
	web := w.channel(t, "shop", "web", "edge")
	w.channel(t, "shop", "ports", "edge", port("http", 80), annotated("external-ports", evil("ports")))
	w.channel(t, "shop", "dns", "edge", port("dns", 53), annotated("external-dns-hostname", evil("dns")))
	w.channel(t, "shop", "off", "edge", port("off", 54), annotated("disabled", evil("off")),
		annotated("ports", evil("note")))
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1",
			Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{
			{Name: ptr.To("http"), Port: ptr.To[int32](8080), Protocol: ptr.To(corev1.ProtocolTCP)}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: evil("pod")}}},
	}
	if _, err := w.Client.DiscoveryV1().EndpointSlices("shop").
		Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.await(t, web)

	b := open(t, "http://"+r.address)
	b.live()
	b.Until("all muxes", `document.querySelectorAll('.card').length === 5`)
	for page, word := range map[string]string{
		"#/": "<img src=x", "#/mux/infra/range": "<img src=x", "#/mux/infra/names": "<img src=x",
		"#/mux/infra/hosts":  "<img src=x",
		"#/mux/infra/ledger": "<img src=x", "#/mux/infra/edge": "<img src=x", "#/service/shop/ports": "<img src=x",
		"#/service/shop/dns": "<img src=x",
		"#/service/shop/web": "<script>", "#/service/shop/off": "<img src=x", "#/timeline": "<img src=x",
	} {
		b.goTo(page)
		b.Says(word)
		b.innocent(t, page)
	}
	// Words in the page's address, as in a link from an attacker.
	for _, hash := range []string{"#/service/" + evil("hash"), "#/mux/" + evil("hash"), "#/" + evil("hash"),
		"#/service/%E0%A4%A/x", "#/mux/__proto__/constructor", "#/__proto__"} {
		b.Allowed = []string{"400"}
		b.goTo(hash)
		b.Until("a page", `document.querySelector('main h1')`)
		b.innocent(t, hash)
	}
	state := awaited[string](b, `fetch('api/state').then((r) => r.text())`)
	if strings.Contains(state, "<script>") || strings.Contains(state, "<img") {
		t.Error("the JSON contains markup, which a browser could take for a page")
	}
}

// innocent checks that no script ran, and that the page has no foreign elements.
func (b *tab) innocent(t *testing.T, where string) {
	t.Helper()
	if did := browser.Evaluate[string](b.Tab, `String(window.pwned ?? '')`); did != "" {
		t.Fatalf("%s: a script ran: %s", where, did)
	}
	if extra := browser.Evaluate[int](b.Tab,
		`document.querySelectorAll('script:not([src="main.js"]), img:not([src="icon.svg"]), iframe, object, embed, `+
			`[onerror], [onclick]').length`); extra != 0 {
		t.Errorf("%s: %d elements come from users' texts", where, extra)
	}
}
