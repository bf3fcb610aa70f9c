package allocate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// refuses makes the API server refuse a Gateway's ledger, each time with another number in its message.
func (w *world) refuses(tries *int) {
	w.api.Answer = func(_, after client.Object) (bool, error) {
		if cm, is := after.(*corev1.ConfigMap); is {
			*tries++
			return false, apierrors.NewForbidden(corev1.Resource("configmaps"), cm.Name, fmt.Errorf("used: %d", *tries))
		}
		return true, nil
	}
}

func TestARefusedLedgerIsToldOnce(t *testing.T) {
	w := newWorld(t)
	events := record.NewFakeRecorder(1000)
	lines, tries := []string{}, 0
	w.line.Events = events
	w.line.Log = funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	w.refuses(&tries)
	w.put(&gatewayv1.TCPRoute{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a",
			Annotations: map[string]string{w.keys.Gateway: "infra/edge"}},
		Spec: gatewayv1.TCPRouteSpec{CommonRouteSpec: gatewayv1.CommonRouteSpec{
			ParentRefs: []gatewayv1.ParentReference{{Kind: ptr.To(gatewayv1.Kind("ListenerSet")), Name: "a"}},
		}},
	})
	for until := w.now.Add(time.Minute); w.now.Before(until); {
		again := w.pass(t, w.line)
		if again == 0 {
			t.Fatal("no other pass is due")
		}
		w.now = w.now.Add(again)
	}
	// after 0, 2, 6, 14 and 24 seconds, and so on every ten seconds
	if tries != 8 || len(lines) != 1 || !strings.Contains(lines[0], `"the Gateway is frozen"`) {
		t.Errorf("%d tries in a minute, and the log has %q", tries, lines)
	}
	const want = "Warning MuxPatchRefused the API server doesn't take the ledger of the mux infra/gateway/edge"
	if event := <-events.Events; !strings.HasPrefix(event, want) {
		t.Errorf("Event %s", event)
	}
	for len(events.Events) > 0 {
		if event := <-events.Events; strings.Contains(event, "MuxPatchRefused") {
			t.Errorf("another Event %s", event)
		}
	}
	w.api.Answer = func(_, _ client.Object) (bool, error) { return true, nil }
	w.rest()
	if w.has(t, map[string]int32{"a": 20000}); len(lines) != 2 ||
		!strings.Contains(lines[1], `"the Gateway isn't frozen any more"`) {
		t.Errorf("once the ledger isn't refused any more, the log has %q", lines)
	}
}
