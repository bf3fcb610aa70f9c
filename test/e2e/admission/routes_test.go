package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

// aRoute is a TCPRoute or UDPRoute with annotations, in YAML's flow style. Its only parent is of the given kind.
func aRoute(kind, name, annotations, parent string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: %s
metadata: {name: %s, namespace: %s, annotations: {%s}}
spec:
  parentRefs: [{kind: %s, name: %[2]s}]
  rules: [{backendRefs: [{name: app, port: 80}]}]`, kind, name, team, strings.ReplaceAll(annotations, "@", prefix+"/"),
		parent)
}

// badRoutes are routes with the reason and the words of their refusal.
var badRoutes = map[string]struct{ annotations, parent, reason, says string }{
	"a Gateway without a namespace": {`@gateway: edge`, "ListenerSet", "InvalidGateway", `edge`},
	"a Gateway with three parts":    {`@gateway: a/b/c`, "ListenerSet", "InvalidGateway", `a/b/c`},
	"a port's name": {`@gateway: infra/edge, @external-ports: "tcp:80"`, "ListenerSet",
		"InvalidPortMapping", "tcp:80"},
	"a protocol": {`@gateway: infra/edge, @external-ports: 53/UDP`, "ListenerSet", "InvalidPortMapping",
		"53/UDP"},
	"no number": {`@gateway: infra/edge, @external-ports: "0"`, "ListenerSet", "InvalidPortMapping",
		"neither auto nor a number"},
	"too large a number": {`@gateway: infra/edge, @external-ports: "65536"`, "ListenerSet",
		"InvalidPortMapping", "65536"},
	"a range": {`@gateway: infra/edge, @external-ports: 100-200`, "ListenerSet",
		"InvalidPortMapping", "100-200"},
	"neither true nor false": {`@gateway: infra/edge, @disabled: "no"`, "ListenerSet", "InvalidDisabled", "no"},
	"no ListenerSet":         {`@gateway: infra/edge`, "Gateway", "NoListenerSet", "add {kind: ListenerSet"},
}

var goodRoutes = map[string]struct{ annotations, parent string }{
	"auto by default":      {`@gateway: infra/edge`, "ListenerSet"},
	"auto":                 {`@gateway: infra/edge, @external-ports: " Auto ", @disabled: "true"`, "ListenerSet"},
	"the largest number":   {`@gateway: " infra / edge.0 ", @external-ports: "65535"`, "ListenerSet"},
	"one that doesn't ask": {`@external-ports: "nonsense"`, "Gateway"},
}

// judgesRoutes checks that the policy or the webhook, whichever is in force, refuses the bad routes and allows the good
// ones.
func judgesRoutes(t *testing.T, w world) {
	for name, c := range badRoutes {
		for _, kind := range []string{"TCPRoute", "UDPRoute"} {
			_, err := w.TryKubectl(t.Context(), aRoute(kind, "bad", c.annotations, c.parent), "apply", "-f", "-")
			if err == nil {
				t.Errorf("a %s with %s is allowed", kind, name)
			} else if !strings.Contains(err.Error(), c.says) {
				t.Errorf("a %s with %s: it isn't said: %v", kind, name, err)
			}
		}
	}
	for name, c := range goodRoutes {
		for _, kind := range []string{"TCPRoute", "UDPRoute"} {
			if _, err := w.TryKubectl(t.Context(), aRoute(kind, "good", c.annotations, c.parent), "apply", "-f",
				"-"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			w.Kubectl(t, "delete", strings.ToLower(kind), "good", "--namespace="+team)
		}
	}
	if _, err := w.TryKubectl(t.Context(), "", "label", "tcproute", "old", "--namespace="+team, "--overwrite", "a="+
		t.Name()[len(t.Name())-3:]); err != nil {
		t.Errorf("a route that was bad before can't be labelled: %v", err)
	}
	if _, err := w.TryKubectl(t.Context(), "", "annotate", "tcproute", "old", "--namespace="+team, "--overwrite", prefix+
		"/disabled=perhaps"); err == nil {
		t.Error("a route that was bad before may become worse")
	}
}

// testRoutesPolicy tests the policy about routes, which the chart has if the allocator is switched on.
func testRoutesPolicy(t *testing.T, w world) {
	product.InstallGatewayAPI(t, w.Cluster)
	w.namespace(t, team)
	w.Apply(t, aRoute("TCPRoute", "old", `@gateway: edge, @external-ports: "x"`, "ListenerSet"))
	w.Apply(t, w.render(t, "routes-policy.yaml", "gatewayApi.allocator=true"))
	cluster.Eventually(t, "the policy is in force", func(ctx context.Context) error {
		_, err := w.TryKubectl(ctx, aRoute("TCPRoute", "probe", `@gateway: edge`, "ListenerSet"), "apply", "--dry-run=server",
			"-f", "-")
		if err == nil {
			return errors.New("a bad route is allowed")
		}
		return nil
	})
	t.Run("what a route asks for", func(t *testing.T) { judgesRoutes(t, w) })
	t.Run("each refusal has its reason", func(t *testing.T) {
		for name, c := range badRoutes {
			_, err := w.TryKubectl(t.Context(), aRoute("TCPRoute", "bad", c.annotations, c.parent), "apply", "-f", "-")
			if err == nil || !strings.Contains(err.Error(), c.reason+":") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("whoever asks needs the right to create ListenerSets", func(t *testing.T) { lendsNoRights(t, w) })
	t.Run("Kubernetes reports no type errors", func(t *testing.T) {
		if out := w.Kubectl(t, "get", "validatingadmissionpolicy", clusterName+".routes", "-o",
			"jsonpath={.status.typeChecking}"); strings.Contains(out, "warning") {
			t.Error(out)
		}
	})
	w.Kubectl(t, "delete", "validatingadmissionpolicybinding/"+clusterName+".routes",
		"validatingadmissionpolicy/"+clusterName+".routes")
	cluster.Eventually(t, "the API server has let go of the policy", func(ctx context.Context) error {
		_, err := w.TryKubectl(ctx, aRoute("TCPRoute", "probe", `@gateway: edge`, "ListenerSet"), "apply", "--dry-run=server",
			"-f", "-")
		return err
	})
}

// lendsNoRights uses an author who may write routes but no ListenerSets: routes of this author that ask for a number
// are refused.
func lendsNoRights(t *testing.T, w world) {
	w.Apply(t, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: routes, namespace: %[1]s}
rules: [{apiGroups: [gateway.networking.k8s.io], resources: [tcproutes], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: routes, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: routes}
subjects: [{kind: User, name: jane, apiGroup: rbac.authorization.k8s.io}]`, team))
	apply := func(annotations, parent string) error {
		_, err := w.TryKubectl(t.Context(), aRoute("TCPRoute", "janes", annotations, parent), "apply", "--as=jane", "-f", "-")
		return err
	}
	const asks = `@gateway: infra/edge`
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "RouteAuthorNotAllowed") ||
			!strings.Contains(err.Error(), "jane may not create ListenerSets in namespace "+team) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("a new route", apply(asks, "ListenerSet"))
	if err := apply(`@external-ports: auto`, "Gateway"); err != nil {
		t.Fatalf("a route that doesn't ask: %v", err)
	}
	refused("a route that begins to ask", apply(asks, "ListenerSet"))
	w.Apply(t, aRoute("TCPRoute", "janes", asks, "ListenerSet"))
	for _, change := range [][]string{
		{"label", "tcproute", "janes", "team=shop"}, {"annotate", "tcproute", "janes", "note=hers"},
		{"patch", "tcproute", "janes", "--type=merge",
			`--patch={"spec": {"rules": [{"backendRefs": [{"name": "other", "port": 81}]}]}}`},
	} {
		if _, err := w.TryKubectl(t.Context(), "", append(change, "--as=jane", "--namespace="+team)...); err != nil {
			t.Errorf("a change that asks for nothing new: %v", err)
		}
	}
	_, err := w.TryKubectl(t.Context(), "", "annotate", "tcproute", "janes", prefix+"/external-ports=22", "--as=jane",
		"--namespace="+team)
	refused("another number", err)
	_, err = w.TryKubectl(t.Context(), "", "patch", "tcproute", "janes", "--type=json", "--as=jane", "--namespace="+team,
		`--patch=[{"op": "replace", "path": "/spec/parentRefs/0/name", "value": "another"}]`)
	refused("another ListenerSet", err)
	w.Kubectl(t, "create", "role", "sets", "--namespace="+team, "--verb=create",
		"--resource=listenersets.gateway.networking.k8s.io")
	w.Kubectl(t, "create", "rolebinding", "sets", "--namespace="+team, "--role=sets", "--user=jane")
	cluster.Eventually(t, "with the right she may ask", func(ctx context.Context) error {
		_, err := w.TryKubectl(ctx, "", "annotate", "tcproute", "janes", "--overwrite", prefix+"/external-ports=22",
			"--as=jane", "--namespace="+team)
		return err
	})
}
