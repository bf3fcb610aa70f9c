package console

import (
	"fmt"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/browser"
)

// TestTrouble checks how the console shows a fault in admission, a refused edit of a channel, and a fault in a mux's
// setting.
func TestTrouble(t *testing.T) {
	t.Parallel()
	w := start(t)
	edge := w.mux(t, "edge")
	web := w.channel(t, "shop", "web", "edge", port("https", 443))
	cart := w.channel(t, "shop", "cart", "edge")
	w.backs(t, web, 1, 1, "https")
	w.backs(t, cart, 2, 2)
	r := w.reconcile(t, func(p *run.Process) { p.Options.WebhookConfiguration = "svc-lb-mux" })
	w.await(t, cart)
	b := open(t, "http://"+r.address)
	b.live()

	b.goTo("#/")
	b.Says("Admission is off guard.", "ConfigurationMissing", "svc-lb-mux")
	w.configure(t, "svc-lb-mux")
	b.Says("NoCABundle")
	if tone := browser.Evaluate[string](b.Tab,
		`document.querySelector('.guard .banner').className`); tone != "banner bad" {
		t.Errorf("the fault's tone is %q", tone)
	}

	b.goTo("#/mux/infra/edge")
	lane := `[...document.querySelectorAll('.lane')].find((l) => l.textContent.includes('cart'))`
	b.Until("the lane", lane+`?.textContent.includes('programmed')`)
	w.annotate(t, cart, "external-ports", "http:443")
	b.Until("that the edit is refused", lane+`.textContent.includes('edit refused')`)
	shown := browser.Evaluate[string](b.Tab, lane+".innerText")
	b.Says("MuxPortConflict", "edit refused 1")
	if pin := browser.Evaluate[string](b.Tab, lane+`.querySelector('.pin').innerText`); pin != "20000\nTCP" &&
		pin != "20000TCP" {
		t.Errorf("the lane has the number %q: %s", pin, shown)
	}
	b.goTo("#/service/shop/cart")
	b.Says("edit refused", "443/TCP", "shop/web", "Way out")

	b.goTo("#/mux/infra/edge")
	w.annotate(t, edge, "port-range", "20000-")
	b.Until("that the mux is frozen", `document.querySelector('main .title').textContent.includes('frozen')`)
	b.Says("InvalidPortRange", "20000-")
	if lanes := browser.Evaluate[int](b.Tab, `document.querySelectorAll('.lane').length`); lanes != 2 {
		t.Errorf("a frozen mux shows %d channels with ports, want 2", lanes)
	}
	w.annotate(t, edge, "port-range", "20000-20099")
	w.annotate(t, cart, "external-ports", "http:auto")
	b.Until("that all is well again", lane+`?.textContent.includes('programmed')`)
	b.Until("a mux that serves", `document.querySelector('main .title').textContent.includes('serving')`)
}

// configure creates a webhook configuration without a CA bundle.
func (w *world) configure(t *testing.T, name string) {
	t.Helper()
	_, err := w.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(),
		&admissionv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Webhooks: []admissionv1.ValidatingWebhook{{
				Name: "services." + prefix, FailurePolicy: ptr.To(admissionv1.Ignore),
				SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
				AdmissionReviewVersions: []string{"v1"},
				ClientConfig: admissionv1.WebhookClientConfig{
					Service: &admissionv1.ServiceReference{Namespace: muxNamespace, Name: "hook"}},
			}},
		}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) annotate(t *testing.T, service types.NamespacedName, key, value string) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, prefix+"/"+key, value)
	_, err := w.Client.CoreV1().Services(service.Namespace).Patch(t.Context(), service.Name, types.MergePatchType,
		[]byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
