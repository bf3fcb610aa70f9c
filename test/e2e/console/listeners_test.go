package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/console/view"
	"nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/browser"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

// gateways are a Gateway of ours and another controller's.
const gateways = `
{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: mux},
  spec: {controllerName: svc-mux.nowake.ai/gateway}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: other},
  spec: {controllerName: example.com/gateway}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: infra}
spec:
  gatewayClassName: mux
  allowedListeners: {namespaces: {from: All}}
  listeners:
  - {name: web, port: 80, protocol: TCP}
  - {name: taken, port: 443, protocol: TCP}
  - {name: http, port: 8000, protocol: HTTP}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: theirs, namespace: infra}
spec: {gatewayClassName: other, listeners: [{name: foreign, port: 81, protocol: TCP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: broker, namespace: shop}
spec: {parentRef: {name: edge, namespace: infra}, listeners: [{name: tcp, port: 9092, protocol: TCP}]}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: infra}, spec: {ports: [{name: http, port: 80}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: web, namespace: infra}
spec: {parentRefs: [{name: edge, sectionName: web}], rules: [{backendRefs: [{name: web, port: 80}]}]}
`

const younger = `
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: younger, namespace: infra}
spec: {parentRefs: [{name: edge, sectionName: web}], rules: [{backendRefs: [{name: nothing, port: 80}]}]}
`

func implementing(p *run.Process) { p.Options.GatewayAPIImplementation = true }

// TestListeners has a mux with channels and listeners.
func TestListeners(t *testing.T) {
	t.Parallel()
	w := start(t)
	product.InstallGatewayAPI(t, w.Cluster)
	w.namespace(t, "shop")
	r := w.reconcile(t, implementing)
	store := w.channel(t, "shop", "store", "gateway-edge", port("https", 443))
	w.Apply(t, strings.Replace(gateways, "  - {name: taken, port: 443, protocol: TCP}\n", "", 1))
	w.await(t, store) // it has 443 before a listener asks for it
	w.backs(t, store, 2, 2, "https")
	w.backs(t, serviceKey("infra", "web"), 1, 2)
	w.Apply(t, gateways)
	w.Apply(t, younger)
	b := open(t, "http://"+r.address)
	b.live()

	b.goTo("#/mux/infra/gateway-edge")
	b.Says("infra/edge", "1 channel, 4 listeners", "TCPRoute infra/web", "TCPRoute infra/younger waits", "which is older",
		"1 of 2 backends ready", "shop/broker › tcp", "no route", "UnsupportedProtocol", "protocol HTTP isn't supported",
		"MuxPortConflict", "shop/store", "443/TCP")
	for _, like := range []string{"light", "dark"} {
		b.Do(browser.Scheme(like))
		for _, poor := range b.Poor() {
			t.Errorf("%s: %s", like, poor)
		}
		if folder := os.Getenv("CONSOLE_SHOTS"); folder != "" {
			shoot(t, b, filepath.Join(folder, "listeners-"+like+".png"))
		}
	}
	b.Do(chromedp.EmulateViewport(390, 800))
	if wide := browser.Evaluate[int](b.Tab, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("the page is %d wide on a screen of 390", wide)
	}
	b.Do(chromedp.EmulateViewport(1440, 900))
	heard(t, b, "#/mux/infra/gateway-edge")
	b.goTo("#/service/infra/gateway/edge/web")
	b.Says("web, a listener of Gateway infra/edge", "tcp has 80/TCP (explicit)", "TCPRoute infra/web", "1 of 2 ready")
	b.goTo("#/service/infra/gateway/edge/taken")
	b.Says("MuxPortConflict", "not reached")
	b.goTo("#/timeline")
	b.Says("infra/gateway/edge", "PortUnavailable", "infra/tcproute/younger", "NotCarried")
	listenersInJSON(t, r)

	// Without the feature and without a ledger, the console can't know the owners of the listeners' ports.
	r.stop()
	if err := w.Client.CoreV1().ConfigMaps("infra").Delete(t.Context(), "gateway-edge-port-allocations",
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r = w.reconcile(t, func(p *run.Process) { p.Options.ConsoleAddress = r.address })
	b.Allowed = []string{"ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE",
		"ERR_CONNECTION_RESET"}
	b.goTo("#/mux/infra/gateway-edge")
	b.Says("frozen", "ListenersUnknown", "doesn't know the listeners of the mux's Gateway yet")
	cluster.Eventually(t, "the pass freezes the mux for the same reason", func(context.Context) error {
		if !strings.Contains(r.log.String(), "doesn't know the listeners of the mux's Gateway yet") {
			return errors.New("the log doesn't say so")
		}
		return nil
	})
}

// listenersInJSON checks that the JSON has everything that the page shows, and nothing of another controller's Gateway.
func listenersInJSON(t *testing.T, r *running) {
	t.Helper()
	answer, err := http.Get("http://" + r.address + "/api/state")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var state view.State
	if err := json.NewDecoder(answer.Body).Decode(&state); err != nil {
		t.Fatal(err)
	}
	if len(state.Muxes) != 1 || state.Muxes[0].Gateway == nil ||
		*state.Muxes[0].Gateway != (view.Gateway{Name: "infra/edge", Listeners: 4}) {
		t.Fatalf("%d muxes, Gateway %+v", len(state.Muxes), state.Muxes[0].Gateway)
	}
	got := map[string]string{}
	for _, c := range state.Muxes[0].Channels {
		text := fmt.Sprintf("%s %s %d", c.State, c.Reason, c.Ports[0].Public)
		if c.Listener != nil {
			text += " " + c.Listener.Gateway + " " + c.Listener.ListenerSet + " " + c.Listener.Name
			for _, condition := range c.Listener.Conditions {
				text += " " + condition.Type + "=" + condition.Status + "/" + condition.Reason
			}
			for _, route := range c.Listener.Routes {
				text += fmt.Sprintf(" %s:%t", route.Name, route.Carried)
			}
		}
		got[c.Name] = text
	}
	for name, want := range map[string]string{
		"store": "programmed Accepted 443",
		"gateway/edge/web": "programmed Accepted 80 infra/edge  web Accepted=True/Accepted Conflicted=False/NoConflicts " +
			"Programmed=True/Programmed ResolvedRefs=True/ResolvedRefs infra/web:true infra/younger:false",
		"gateway/edge/taken": "refused MuxPortConflict 0 infra/edge  taken Accepted=False/PortUnavailable " +
			"Conflicted=False/NoConflicts Programmed=False/Invalid ResolvedRefs=True/ResolvedRefs",
		"gateway/edge/http": "refused UnsupportedProtocol 0 infra/edge  http Accepted=False/UnsupportedProtocol " +
			"Conflicted=False/NoConflicts Programmed=False/Invalid ResolvedRefs=True/ResolvedRefs",
		"listenerset/broker/tcp": "unbacked Accepted 9092 infra/edge shop/broker tcp Accepted=True/Accepted " +
			"Conflicted=False/NoConflicts Programmed=True/Programmed ResolvedRefs=True/ResolvedRefs",
	} {
		if got[name] != want {
			t.Errorf("%s:\n%s, want\n%s", name, got[name], want)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("and %v", got)
	}
}
