package reconciler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	reconciler "nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/cluster/faults"
	"nowake.ai/svc-lb-mux/test/product"
)

// TestRights runs a broad scenario as the chart's ServiceAccount. A refused request means that a right is missing. A
// right on which no request depends is superfluous: the test fails for it, too.
func TestRights(t *testing.T) {
	t.Parallel()
	s := &scene{world: start(t, cluster.APIServerOnly(), cluster.Audit(), cluster.Helm())}
	console := freeAddress(t)
	for name, tc := range map[string]struct {
		release string
		set     []string
		options func(*reconciler.Options)
		use     func(*testing.T)
	}{
		"where muxes may be anywhere": {release: "svc-mux-anywhere"},
		"where muxes are in some namespaces": {
			release: "svc-mux-somewhere", set: []string{"rbac.muxNamespaces={" + muxNamespace + "}"},
			options: func(o *reconciler.Options) { o.MuxNamespaces = muxNamespace },
		},
		"where the console shows what gateways count": {
			release: "svc-mux-console",
			set: []string{
				"gateways.pools[0].name=rack", "gateways.pools[0].addresses={192.0.2.1}", "gateways.pools[0].announce=none"},
			options: func(o *reconciler.Options) {
				o.ConsoleTraffic, o.ConsoleAddress = "true", console
			},
			use: func(t *testing.T) { awaitTraffic(t, "http://"+console+"/api/traffic") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			account := "system:serviceaccount:" + muxNamespace + ":" + tc.release
			granted := s.grant(t, tc.release, tc.set)
			config := s.withoutStreamedLists(t).ConfigFor(s.token(t, tc.release))
			s.awaitPolicies(t, s.impersonating(tc.release))
			run := s.reconcile(t, func(p *reconciler.Process) {
				p.Config = config
				p.Options.LeaseName = tc.release
				p.Options.Predecessors = "app=original"
				if tc.options != nil {
					tc.options(&p.Options)
				}
			})
			defer s.dropLease(t, tc.release)
			defer func() {
				if t.Failed() {
					product.Requests(t, s.Cluster, account) // fails the test for refused requests
				}
			}()
			s.elsewhere(t, tc.release)
			s.everything(t, strings.TrimPrefix(tc.release, "svc-mux-"))
			if tc.use != nil {
				tc.use(t)
			}
			run.stop()
			product.CompareRights(t, s.Cluster, account, granted)
		})
	}
}

// awaitTraffic waits until the console answers what gateways count.
func awaitTraffic(t *testing.T, url string) {
	t.Helper()
	cluster.Eventually(t, "the console shows traffic", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		if answer.StatusCode != http.StatusOK {
			err = errors.New(answer.Status)
		}
		return errors.Join(err, answer.Body.Close())
	})
}

// freeAddress returns an address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// grant applies the chart's roles and policies, and returns the rights that the roles grant.
func (w *world) grant(t *testing.T, release string, set []string) []product.Right {
	t.Helper()
	manifests := w.render(t, release, set, "reconciler-roles.yaml", "reconciler-policy.yaml")
	w.Apply(t, manifests)
	return product.Rights(t, manifests)
}

// withoutStreamedLists returns a proxy to an API server without streamed lists, as older ones are: otherwise no client
// would list.
func (w *world) withoutStreamedLists(t *testing.T) *faults.Proxy {
	t.Helper()
	proxy := w.through(t)
	proxy.Add(faults.Rule{Match: faults.Match{Verbs: []string{"watch"}},
		Do: func(call *faults.Call, next faults.Next) (*http.Response, error) {
			if call.HTTP.URL.Query().Get("sendInitialEvents") == "true" {
				return faults.Answer(http.StatusUnprocessableEntity)(call, next)
			}
			return next()
		}})
	return proxy
}

// token creates a ServiceAccount, and returns a token for it.
func (w *world) token(t *testing.T, account string) string {
	t.Helper()
	accounts := w.user.CoreV1().ServiceAccounts(muxNamespace)
	if _, err := accounts.Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	request, err := accounts.CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

func (w *world) dropLease(t *testing.T, name string) {
	t.Helper()
	err := w.user.CoordinationV1().Leases(muxNamespace).Delete(t.Context(), name, metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

const leaseName = "svc-lb-mux-reconciler"

// everything changes a mux in all ways that make the reconciler send requests.
func (s *scene) everything(t *testing.T, name string) {
	t.Helper()
	// The original leaves a mux with Endpoints. Create the Endpoints first: the mux might be reconciled before they
	// exist.
	left := types.NamespacedName{Namespace: muxNamespace, Name: name + "-left"}
	s.leaveEndpoints(t, left, nil)
	s.mux(t, left.Name)
	mux := s.mux(t, name, annotated("release-grace", "1s"))
	web := s.channel(t, name, "web", mux, selectorless)
	s.backends(t, web, "web-1", "http:8080", "10.1.0.1")
	s.awaitServed(t, web, "http:80->20000")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.1.0.1")

	for range 2 { // the second time the Event's count is patched
		api := s.channel(t, name, "api", mux, port("https", 443, "TCP"))
		s.awaitServed(t, api, "https:443->443")
		s.delete(t, api)
		s.awaitClaims(t, mux, "20000/TCP "+name+"/web http auto")
	}
	s.awaitTold(t, mux, "MuxPortsChanged 2")
	s.drifts(t, mux, web)
	s.loses(t, mux, web)

	s.backends(t, web, "web-1", "http:8080", "10.1.0.1-", "10.1.0.2")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.1.0.1- 10.1.0.2")
	if err := s.user.DiscoveryV1().EndpointSlices(name).Delete(t.Context(), "web-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.awaitCarried(t, mux)
	s.awaitLetGo(t, left)
	s.delete(t, mux)
	s.awaitNothing(t, web, "False MuxNotFound")
}

// elsewhere creates a mux in a namespace that a reconciler of some namespaces may not read.
func (s *scene) elsewhere(t *testing.T, namespace string) {
	t.Helper()
	s.namespace(t, namespace)
	mux := s.mux(t, "mux", func(svc *corev1.Service) { svc.Namespace = namespace })
	s.channel(t, namespace, "web", mux)
}

// drifts undoes writes on a mux, on a channel and on a slice.
func (s *scene) drifts(t *testing.T, mux, web types.NamespacedName) {
	t.Helper()
	s.update(t, mux, func(svc *corev1.Service) {
		svc.Spec.Ports = []corev1.ServicePort{{Name: "placeholder", Port: 101, Protocol: "TCP"}}
	})
	s.awaitPublic(t, mux, "20000/TCP")
	s.patch(t, web, map[string]any{"status": map[string]any{"loadBalancer": nil, "conditions": nil}}, "status")
	s.awaitServed(t, web, "http:80->20000")
	for _, slice := range s.slicesOn(t, mux) {
		if err := s.user.DiscoveryV1().EndpointSlices(slice.Namespace).Delete(t.Context(), slice.Name,
			metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.1.0.1")
}

// loses deletes a mux's ledger, and then changes the ledger's name.
func (s *scene) loses(t *testing.T, mux, web types.NamespacedName) {
	t.Helper()
	s.deleteLedger(t, mux)
	s.awaitClaims(t, mux, fmt.Sprintf("20000/TCP %s http auto", web))
	s.annotate(t, mux, "allocation-configmap", mux.Name+"-elsewhere")
	cluster.Eventually(t, "the ledger has moved", func(ctx context.Context) error {
		all := s.user.CoreV1().ConfigMaps(mux.Namespace)
		_, before := all.Get(ctx, ledgerOf(mux).Name, metav1.GetOptions{})
		_, now := all.Get(ctx, mux.Name+"-elsewhere", metav1.GetOptions{})
		if !apierrors.IsNotFound(before) {
			return errors.New("the ledger hasn't moved yet")
		}
		return now
	})
}

// leaveEndpoints creates the original's Endpoints on a mux.
func (w *world) leaveEndpoints(t *testing.T, mux types.NamespacedName,
	subsets []corev1.EndpointSubset) { //nolint:staticcheck // deprecated, and what the original writes
	t.Helper()
	_, err := w.user.CoreV1().Endpoints(mux.Namespace).Create(t.Context(),
		&corev1.Endpoints{ //nolint:staticcheck // as above
			ObjectMeta: metav1.ObjectMeta{
				Namespace: mux.Namespace, Name: mux.Name,
				Labels: map[string]string{"app.kubernetes.io/managed-by": "svc-lb-mux",
					"app.kubernetes.io/component": "mux-endpoints"},
				Annotations: map[string]string{prefix + "/managed": "true", prefix + "/mux": mux.String(),
					prefix + "/channels": `[]`},
			},
			Subsets: subsets,
		}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// awaitLetGo waits until the original's Endpoints are deleted.
func (w *world) awaitLetGo(t *testing.T, mux types.NamespacedName) {
	t.Helper()
	cluster.Eventually(t, "the original's Endpoints are let go", func(ctx context.Context) error {
		left, err := w.user.CoreV1().Endpoints(mux.Namespace).Get(ctx, mux.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("%v, %w", left, err)
	})
}
