package gatewayapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// TestNumbers starts before the Gateway API is installed, so all parts also show that the feature starts by itself.
func TestNumbers(t *testing.T) {
	w := start(t)
	for name, test := range map[string]func(*testing.T, *world, string){
		"numbers are given, kept and freed":                   given,
		"a number that is asked for":                          asked,
		"a ListenerSet that somebody else keeps changing":     undone,
		"a namespace that changes numbers too often":          churn,
		"drift is put right":                                  drift,
		"a Gateway that comes back gives the same numbers":    comesBack,
		"a lost ledger is rebuilt from ListenerSets":          lost,
		"an older copy of the ledger is restored":             older,
		"namespaces that may not attach":                      shutOut,
		"a ListenerSet that isn't ours":                       taken,
		"two routes with one ListenerSet":                     shared,
		"what a route needs":                                  needs,
		"a route that no longer asks":                         stray,
		"a policy refuses a ListenerSet":                      refused,
		"the quota of a namespace":                            quota,
		"an edited label can't take another route's number":   forged,
		"a route that is created again under its ListenerSet": recreated,
		"a UDPRoute": udp,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, w, strings.NewReplacer(" ", "-", "'", "", ",", "").Replace(strings.ToLower(name)))
		})
	}
}

func given(t *testing.T, w *world, space string) {
	w.gateway(t, space, "")
	w.route(t, space, space, "a", "auto")
	w.has(t, space, "a", 20000)
	w.route(t, space, space, "b", "auto")
	w.has(t, space, "b", 20002) // 20001 is the Gateway's own
	var set gatewayv1.ListenerSet
	if err := w.api.Get(t.Context(), named(space, "a"), &set); err != nil {
		t.Fatal(err)
	}
	if got := set.Spec.Listeners[0]; got.Protocol != "TCP" || string(got.AllowedRoutes.Kinds[0].Kind) != "TCPRoute" ||
		set.Spec.ParentRef.Name != "edge" {
		t.Errorf("the ListenerSet is %+v", set.Spec)
	}
	var route gatewayv1.TCPRoute
	if err := w.api.Get(t.Context(), named(space, "a"), &route); err != nil {
		t.Fatal(err)
	}
	if err := w.api.Delete(t.Context(), &route); err != nil {
		t.Fatal(err)
	}
	w.gone(t, &gatewayv1.ListenerSet{}, named(space, "a"))
	w.route(t, space, space, "c", "auto")
	w.has(t, space, "c", 20000)
	w.has(t, space, "b", 20002)
}

func udp(t *testing.T, w *world, space string) {
	w.gateway(t, space, "")
	w.route(t, space, space, "a", "auto")
	w.has(t, space, "a", 20000)
	w.Apply(t, fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: UDPRoute
metadata: {name: a, namespace: %[1]s, annotations: {svc-mux.nowake.ai/gateway: %[1]s/edge,
  svc-mux.nowake.ai/external-ports: "20000"}}
spec:
  parentRefs: [{kind: ListenerSet, name: a-udp}]
  rules: [{backendRefs: [{name: a, port: 53}]}]`, space))
	var set gatewayv1.ListenerSet
	var route gatewayv1.UDPRoute
	cluster.Eventually(t, "the UDPRoute has the same number over UDP", func(ctx context.Context) error {
		if err := errors.Join(w.api.Get(ctx, named(space, "a-udp"), &set),
			w.api.Get(ctx, named(space, "a"), &route)); err != nil {
			return err
		}
		if on := set.Spec.Listeners[0]; on.Port != 20000 || on.Protocol != "UDP" || route.Annotations[numbers] != "20000" ||
			len(route.Status.Parents) != 1 {
			return fmt.Errorf("the ListenerSet has %+v, and the route %v, %+v", on, route.Annotations, route.Status)
		}
		return nil
	})
	w.Kubectl(t, "delete", "udproute", "a", "--namespace="+space)
	w.gone(t, &gatewayv1.ListenerSet{}, named(space, "a-udp"))
	w.has(t, space, "a", 20000)
}

func asked(t *testing.T, w *world, space string) {
	w.gateway(t, space, "")
	w.route(t, space, space, "a", "5432")
	w.has(t, space, "a", 5432)
	w.route(t, space, space, "b", "5432")
	w.isTold(t, space, "b", "MuxPortConflict", "5432/TCP", space+"/tcproute/a", "auto")
	cluster.Eventually(t, "an Event says so", func(ctx context.Context) error {
		events, err := w.events(ctx, space, "b", "MuxPortConflict")
		if err == nil && len(events) == 0 {
			err = errors.New("there is none")
		}
		return err
	})
	w.route(t, space, space, "c", "20001")
	w.isTold(t, space, "c", "MuxPortConflict", "listener web")
	w.route(t, space, space, "a", "5433")
	w.has(t, space, "a", 5433)
	w.has(t, space, "b", 5432)
}

func drift(t *testing.T, w *world, space string) {
	w.gateway(t, space, "")
	w.route(t, space, space, "a", "auto")
	w.has(t, space, "a", 20000)
	w.Kubectl(t, "patch", "listenerset", "a", "--namespace="+space, "--type=json",
		`--patch=[{"op": "replace", "path": "/spec/listeners/0/port", "value": 22}]`)
	w.has(t, space, "a", 20000)
	w.Kubectl(t, "delete", "listenerset", "a", "--namespace="+space)
	w.has(t, space, "a", 20000)
	w.Kubectl(t, "annotate", "tcproute", "a", "--namespace="+space, "--overwrite", numbers+"=1")
	w.has(t, space, "a", 20000)
	events, err := w.events(t.Context(), space, "a", "MuxDriftCorrected")
	if err != nil || len(events) == 0 {
		t.Errorf("Events about the drift: %v, %v", events, err)
	}
}

// undone uses a writer that undoes each correction. The allocator corrects more and more slowly.
func undone(t *testing.T, w *world, space string) {
	w.gateway(t, space, "")
	w.route(t, space, space, "a", "auto")
	w.has(t, space, "a", 20000)
	var set gatewayv1.ListenerSet
	corrected := 0
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err := w.api.Get(t.Context(), named(space, "a"), &set); err != nil {
			t.Fatal(err)
		}
		if set.Spec.Listeners[0].Port != 20000 {
			continue
		}
		corrected++
		set.Spec.Listeners[0].Port = 22
		if err := w.api.Update(t.Context(), &set); err != nil {
			t.Fatal(err)
		}
	}
	if corrected < 2 || corrected > 6 {
		t.Errorf("the ListenerSet was right %d times in 5 s: at first, and after each correction", corrected)
	}
	w.has(t, space, "a", 20000)
}

// churn has a namespace that asks for another number again and again. After its burst it waits, and others don't.
func churn(t *testing.T, w *world, space string) {
	w.gateway(t, space, "")
	w.route(t, space, space, "a", "auto")
	w.has(t, space, "a", 20000)
	number := 30000
	cluster.Eventually(t, "the change waits", func(ctx context.Context) error {
		var route gatewayv1.TCPRoute
		if err := w.api.Get(ctx, named(space, "a"), &route); err != nil {
			return err
		}
		if _, why := said(&route); strings.Contains(why, "PortChangesLimited") {
			return nil
		}
		route.Annotations[prefix+"/external-ports"] = fmt.Sprint(number + 1)
		if err := w.api.Update(ctx, &route); err != nil {
			return err // a conflict: the reconciler wrote its status
		}
		number++
		return fmt.Errorf("it doesn't after %d changes", number-30000)
	})
	w.route(t, space, space+"-other", "b", "auto")
	w.has(t, space+"-other", "b", 20000)
	w.has(t, space, "a", int32(number)) //nolint:gosec // a small number
}

func comesBack(t *testing.T, w *world, space string) {
	w.gateway(t, space, "")
	for i, name := range []string{"c", "b", "a"} {
		w.route(t, space, space, name, "auto")
		w.has(t, space, name, []int32{20000, 20002, 20003}[i])
	}
	w.Kubectl(t, "delete", "gateway", "edge", "--namespace="+space)
	w.isTold(t, space, "a", "MuxNotFound", "there is no Gateway "+space+"/edge")
	w.gateway(t, space, "")
	w.has(t, space, "a", 20003)
	w.has(t, space, "b", 20002)
	w.has(t, space, "c", 20000)
}

func lost(t *testing.T, w *world, space string) {
	w.gateway(t, space, "")
	for i, name := range []string{"c", "b", "a"} {
		w.route(t, space, space, name, "auto")
		w.has(t, space, name, []int32{20000, 20002, 20003}[i])
	}
	const ledger = "gateway-edge-route-allocations"
	w.Kubectl(t, "delete", "configmap", ledger, "--namespace="+space)
	cluster.Eventually(t, "the ledger is there again", func(ctx context.Context) error {
		return w.api.Get(ctx, named(space, ledger), &corev1.ConfigMap{})
	})
	w.route(t, space, space, "d", "auto")
	w.has(t, space, "d", 20004)
	w.has(t, space, "a", 20003)
	w.has(t, space, "c", 20000)
}

// older restores the ledger as it was before two numbers changed hands.
func older(t *testing.T, w *world, space string) {
	const ledger = "gateway-edge-route-allocations"
	w.gateway(t, space, "")
	w.route(t, space, space, "a", "20000")
	w.has(t, space, "a", 20000)
	copied := w.Kubectl(t, "get", "configmap", ledger, "--namespace="+space, "--output=jsonpath={.data}")
	w.route(t, space, space, "a", "20003")
	w.has(t, space, "a", 20003)
	w.route(t, space, space, "b", "20000")
	w.has(t, space, "b", 20000)
	w.Kubectl(t, "patch", "configmap", ledger, "--namespace="+space, "--type=merge", `--patch={"data": `+copied+`}`)
	w.route(t, space, space, "c", "auto")
	w.isTold(t, space, "c", "Waiting", ledger+" is of generation", "older copy")
	w.has(t, space, "a", 20003)
	w.has(t, space, "b", 20000)
	w.Kubectl(t, "delete", "configmap", ledger, "--namespace="+space) // as the message says
	w.has(t, space, "c", 20002)
	w.has(t, space, "a", 20003)
	w.has(t, space, "b", 20000)
}

func shutOut(t *testing.T, w *world, space string) {
	w.gateway(t, space, "")
	w.Kubectl(t, "patch", "gateway", "edge", "--namespace="+space, "--type=merge",
		`--patch={"spec": {"allowedListeners": {"namespaces": {"from": "Selector", `+
			`"selector": {"matchLabels": {"edge": "yes"}}}}}}`)
	tenant := space + "-tenant"
	w.route(t, space, tenant, "a", "auto")
	w.isTold(t, tenant, "a", "NamespaceNotAllowed", tenant)
	w.Kubectl(t, "label", "namespace", tenant, "edge=yes")
	w.has(t, tenant, "a", 20000)
	w.Kubectl(t, "label", "namespace", tenant, "edge-")
	w.isTold(t, tenant, "a", "NamespaceNotAllowed", tenant)
	w.gone(t, &gatewayv1.ListenerSet{}, named(tenant, "a"))
}

// theirs is a ListenerSet that a user made.
func theirs(space, name, more string, port int) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: %[2]s, namespace: %[1]s%[3]s}
spec:
  parentRef: {name: edge}
  listeners: [{name: tcp, port: %[4]d, protocol: TCP}]`, space, name, more, port)
}

func taken(t *testing.T, w *world, space string) {
	w.gateway(t, space, "")
	w.Apply(t, theirs(space, "a", "", 20000))
	w.route(t, space, space, "a", "auto")
	w.isTold(t, space, "a", "ListenerSetTaken", "ListenerSet "+space+"/a is there")
	w.route(t, space, space, "b", "20000")
	w.isTold(t, space, "b", "MuxPortConflict", "ListenerSet "+space+"/a")
	w.Kubectl(t, "delete", "listenerset", "a", "--namespace="+space)
	w.has(t, space, "b", 20000)
	w.has(t, space, "a", 20002)
}

func shared(t *testing.T, w *world, space string) {
	w.gateway(t, space, "")
	w.route(t, space, space, "a", "auto")
	w.has(t, space, "a", 20000)
	w.route(t, space, space, "b", "auto")
	w.has(t, space, "b", 20002)
	w.Kubectl(t, "patch", "tcproute", "b", "--namespace="+space, "--type=merge",
		`--patch={"spec": {"parentRefs": [{"kind": "ListenerSet", "name": "a"}]}}`)
	w.isTold(t, space, "b", "ListenerSetTaken", "ListenerSet "+space+"/a")
	w.has(t, space, "a", 20000)
}

func needs(t *testing.T, w *world, space string) {
	w.gateway(t, space, "")
	w.route(t, space, space, "a", "http:80")
	w.isTold(t, space, "a", "InvalidPortMapping", `"http:80" is neither auto nor a number`)
	w.route(t, space+"-none", space, "b", "auto")
	w.isTold(t, space, "b", "there is no Gateway "+space+"-none/edge")
	w.route(t, space, space, "c", "auto")
	w.has(t, space, "c", 20000)
	w.Kubectl(t, "annotate", "tcproute", "a", "--namespace="+space, "--overwrite", prefix+"/gateway=edge")
	w.isTold(t, space, "a", `"edge" names no Gateway`)
	w.Kubectl(t, "patch", "tcproute", "b", "--namespace="+space, "--type=merge",
		`--patch={"spec": {"parentRefs": [{"name": "edge"}]}, "metadata": {"annotations": {"`+
			prefix+`/gateway": "`+space+`/edge"}}}`)
	w.isTold(t, space, "b", "NoListenerSet", "add {kind: ListenerSet")
	w.Kubectl(t, "annotate", "gateway", "edge", "--namespace="+space, prefix+"/port-range-")
	w.isTold(t, space, "c", "its owner must set the annotation "+prefix+"/port-range")
}

func stray(t *testing.T, w *world, space string) {
	w.gateway(t, space, "")
	w.route(t, space, space, "a", "auto")
	w.has(t, space, "a", 20000)
	w.Kubectl(t, "annotate", "tcproute", "a", "--namespace="+space, prefix+"/gateway-")
	w.gone(t, &gatewayv1.ListenerSet{}, named(space, "a"))
	cluster.Eventually(t, "nothing of ours is on the route", func(ctx context.Context) error {
		var route gatewayv1.TCPRoute
		if err := w.api.Get(ctx, named(space, "a"), &route); err != nil {
			return err
		}
		if len(route.Status.Parents) > 0 || route.Annotations[numbers] != "" {
			return fmt.Errorf("%v, %v", route.Status.Parents, route.Annotations)
		}
		return nil
	})
	w.route(t, space, space, "b", "auto")
	w.has(t, space, "b", 20000)
}

func refused(t *testing.T, w *world, space string) {
	w.gateway(t, space, "")
	tenant := space + "-tenant"
	// The policy's reason isn't Forbidden: the comparison of rights would count that as a missing right.
	w.Apply(t, fmt.Sprintf(`
{apiVersion: v1, kind: Namespace, metadata: {name: %[1]s}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    resourceRules: [{operations: [CREATE], apiGroups: [gateway.networking.k8s.io], apiVersions: ["*"],
      resources: [listenersets]}]
  validations: [{expression: "false", message: no ListenerSets here, reason: Invalid}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec:
  policyName: %[1]s
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}}`, tenant))
	cluster.Eventually(t, "the policy is in force", func(ctx context.Context) error {
		var set gatewayv1.ListenerSet
		if err := yaml.Unmarshal([]byte(theirs(tenant, "try", "", 1)), &set); err != nil {
			return err
		}
		if err := w.api.Create(ctx, &set, client.DryRunAll); !apierrors.IsInvalid(err) {
			return fmt.Errorf("it isn't: %w", err)
		}
		return nil
	})
	w.route(t, space, tenant, "a", "auto")
	w.isTold(t, tenant, "a", "MuxPatchRefused", "no ListenerSets here")
	w.route(t, space, space, "b", "auto")
	w.hasSome(t, space, "b")
	w.Kubectl(t, "delete", "validatingadmissionpolicybinding", tenant)
	w.hasSome(t, tenant, "a")
}

func quota(t *testing.T, w *world, space string) {
	w.gateway(t, space, `, svc-mux.nowake.ai/max-ports-per-namespace: "1"`)
	w.route(t, space, space, "a", "auto")
	w.has(t, space, "a", 20000)
	w.route(t, space, space, "b", "auto")
	w.isTold(t, space, "b", "QuotaExceeded")
}

// forged gives a ListenerSet the marks of ours, and the number that another route has.
func forged(t *testing.T, w *world, space string) {
	w.gateway(t, space, "")
	w.route(t, space, space, "a", "auto")
	w.has(t, space, "a", 20000)
	tenant := space + "-tenant"
	w.route(t, space, tenant, "b", "auto")
	w.has(t, tenant, "b", 20002)
	w.Kubectl(t, "patch", "listenerset", "b", "--namespace="+tenant, "--type=json",
		`--patch=[{"op": "replace", "path": "/spec/listeners/0/port", "value": 20000}]`)
	w.has(t, tenant, "b", 20002)
	w.has(t, space, "a", 20000)
}

func recreated(t *testing.T, w *world, space string) {
	w.gateway(t, space, `, svc-mux.nowake.ai/release-grace: 1m`)
	w.route(t, space, space, "b", "auto")
	w.has(t, space, "b", 20000)
	w.route(t, space, space, "a", "auto")
	w.has(t, space, "a", 20002)
	w.Kubectl(t, "delete", "tcproute", "b", "--namespace="+space)
	w.route(t, space, space, "c", "auto")
	w.has(t, space, "c", 20003)
	w.route(t, space, space, "b", "auto")
	w.has(t, space, "b", 20000)
	var route gatewayv1.TCPRoute
	var set gatewayv1.ListenerSet
	cluster.Eventually(t, "the ListenerSet is the new route's", func(ctx context.Context) error {
		if err := errors.Join(w.api.Get(ctx, named(space, "b"), &route),
			w.api.Get(ctx, named(space, "b"), &set)); err != nil {
			return err
		}
		if set.OwnerReferences[0].UID != route.UID {
			return errors.New("it is the old one's")
		}
		return nil
	})
}
