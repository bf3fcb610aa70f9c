package api_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
	"nowake.ai/svc-lb-mux/test/sim/api"
)

// TestGatewaysAreWrittenAsOnTheRealOne sends the same random requests about a Gateway to both servers. It compares the
// answers, and the Gateway's generation, labels, spec and status.
func TestGatewaysAreWrittenAsOnTheRealOne(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.APIServerOnly())
	product.InstallGatewayAPI(t, c)
	types := scheme.Scheme
	if err := gatewayv1.Install(types); err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(c.Config)
	config.QPS, config.Burst = -1, -1
	real, err := client.New(config, client.Options{Scheme: types})
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	for _, seed := range seeds() {
		r := rand.New(rand.NewPCG(seed, 2))
		key := client.ObjectKey{Namespace: fmt.Sprintf("gateways-%d", seed), Name: "edge"}
		if err := real.Create(t.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: key.Namespace}}); err != nil {
			t.Fatal(err)
		}
		ours := &api.Client{Server: api.NewServer(time.Now)}
		var story []string
		for range 25 {
			request := gatewayRequest(r)
			story = append(story, request.what)
			want, got := askGateway(t, real, key, request), askGateway(t, ours, key, request)
			told[want.reason]++
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(gatewayAnswer{})); diff != "" {
				t.Fatalf("%s\nthe real server (-) and ours (+) differ:\n%s", strings.Join(story, "\n"), diff)
			}
		}
	}
	for _, answer := range []string{"", "Conflict", "NotFound", "AlreadyExists"} {
		if told[answer] == 0 {
			t.Errorf("no request got the answer %q: %v", answer, told)
		}
	}
}

// gatewayRequestOf is a request about the Gateway as it is.
type gatewayRequestOf struct {
	what, verb string
	port       gatewayv1.PortNumber // number of its listener
	label      string
	address    string // in its status
	isOld      bool   // the request has an old version
}

func gatewayRequest(r *rand.Rand) gatewayRequestOf {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	q := gatewayRequestOf{verb: pick("create", "update", "update", "update/status", "patch", "patch", "patch/status",
		"patch/status", "delete"),
		port: gatewayv1.PortNumber(80 + r.IntN(2)), label: pick("a", "b"), address: pick("", "192.0.2.1", "192.0.2.2"),
		isOld: r.IntN(5) == 0}
	q.what = fmt.Sprintf("%s port=%d label=%s address=%s old=%t", q.verb, q.port, q.label, q.address, q.isOld)
	return q
}

func (q *gatewayRequestOf) change(gateway *gatewayv1.Gateway) {
	gateway.Labels = map[string]string{"l": q.label}
	gateway.Spec = gatewayv1.GatewaySpec{GatewayClassName: "mux",
		Listeners: []gatewayv1.Listener{{Name: "a", Port: q.port, Protocol: gatewayv1.TCPProtocolType,
			AllowedRoutes: &gatewayv1.AllowedRoutes{
				Namespaces: &gatewayv1.RouteNamespaces{From: ptr.To(gatewayv1.NamespacesFromAll)}}}},
		AllowedListeners: &gatewayv1.AllowedListeners{
			Namespaces: &gatewayv1.ListenerNamespaces{From: ptr.To(gatewayv1.NamespacesFromAll)}}}
	gateway.Status = gatewayv1.GatewayStatus{}
	if q.address != "" {
		gateway.Status.Addresses = []gatewayv1.GatewayStatusAddress{{Type: ptr.To(gatewayv1.IPAddressType), Value: q.address}}
	}
}

// gatewayAnswer is what a server answers, and the Gateway that it has afterwards.
type gatewayAnswer struct {
	reason     string
	generation int64
	label      string
	port       gatewayv1.PortNumber
	address    string
}

func askGateway(t *testing.T, to client.Client, key types.NamespacedName, q gatewayRequestOf) gatewayAnswer {
	t.Helper()
	now := &gatewayv1.Gateway{}
	_ = to.Get(t.Context(), key, now)
	before := now.DeepCopy()
	q.change(now)
	now.Namespace, now.Name = key.Namespace, key.Name
	if q.isOld {
		now.ResourceVersion = "1"
	}
	var err error
	switch q.verb {
	case "create":
		now.ResourceVersion, now.UID = "", ""
		err = to.Create(t.Context(), now)
	case "update":
		err = to.Update(t.Context(), now)
	case "update/status":
		err = to.Status().Update(t.Context(), now)
	case "patch":
		err = to.Patch(t.Context(), now, mergeFrom(before, q.isOld))
	case "patch/status":
		err = to.Status().Patch(t.Context(), now, mergeFrom(before, q.isOld))
	case "delete":
		err = to.Delete(t.Context(), now)
	}
	answer := gatewayAnswer{reason: string(apierrors.ReasonForError(err))}
	left := &gatewayv1.Gateway{}
	if to.Get(t.Context(), key, left) != nil {
		return answer
	}
	answer.generation, answer.label, answer.port = left.Generation, left.Labels["l"], left.Spec.Listeners[0].Port
	if len(left.Status.Addresses) > 0 {
		answer.address = left.Status.Addresses[0].Value
	}
	return answer
}

func mergeFrom(before *gatewayv1.Gateway, isOld bool) client.Patch {
	if !isOld {
		return client.MergeFrom(before)
	}
	old := before.DeepCopy()
	old.ResourceVersion = "1"
	return client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})
}
