// Package svcmux runs the command line against a real cluster, before and after the product is installed there, with
// the rights of an administrator, of a tenant, and of a user without rights.
package svcmux

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/cluster/host"
	"nowake.ai/svc-lb-mux/test/product"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// before is a cluster of load balancers, and of an ingress-nginx with TCP services.
const before = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Namespace
metadata: {name: chat}
---
apiVersion: v1
kind: Namespace
metadata: {name: ingress-nginx}
---
apiVersion: v1
kind: Service
metadata: {name: rooms, namespace: chat}
spec: {type: LoadBalancer, selector: {app: rooms}, ports: [{name: https, port: 443}]}
---
apiVersion: v1
kind: Service
metadata: {name: dns, namespace: chat}
spec: {type: LoadBalancer, selector: {app: dns}, ports: [{name: tcp, port: 53}, {name: udp, port: 53, protocol: UDP}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{name: https, port: 443, targetPort: 8443}]}
---
apiVersion: v1
kind: Service
metadata: {name: admin, namespace: shop}
spec: {type: LoadBalancer, selector: {app: admin}, ports: [{port: 8443}]}
---
apiVersion: v1
kind: Service
metadata: {name: redis, namespace: shop}
spec: {selector: {app: redis}, ports: [{name: redis, port: 6379}]}
---
apiVersion: v1
kind: Service
metadata: {name: redis, namespace: chat}
spec: {selector: {app: redis}, ports: [{name: redis, port: 6379}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: tenant, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: tenant}]
---
` + streams

const streams = `apiVersion: v1
kind: ConfigMap
metadata: {name: tcp-services, namespace: ingress-nginx}
data: {"6379": "shop/redis:6379", "6380": "chat/redis:redis"}
`

// Flags that choose a user. A tenant's context has the tenant's namespace.
const (
	admin  = ""
	tenant = "--as=tenant"
	nobody = "--as=nobody"
)

type world struct {
	*cluster.Cluster
	program string
}

// result is the result of a run.
type result struct {
	Code     int
	Out, Err string
}

// run runs svcmux as a user.
func (w *world) run(t *testing.T, stdin, user string, args ...string) result {
	t.Helper()
	args = append([]string{w.program}, args...)
	if user != admin {
		args = append(args, user)
	}
	out, err := w.Run(t.Context(), cluster.Program{Args: args, Stdin: stdin})
	var exit *host.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	got := result{0, out.Stdout, out.Stderr}
	if exit != nil {
		got.Code = exit.Code
	}
	if strings.Contains(got.Out+got.Err, "goroutine ") {
		t.Errorf("%q prints a stack trace:\n%s%s", args, got.Out, got.Err)
	}
	return got
}

// want is what a run must print.
type want struct {
	code     int
	out, err string // parts of the streams; "" is for anything
	silent   bool   // nothing on standard output
}

func (w *world) expect(t *testing.T, what string, want want, got result) {
	t.Helper()
	if got.Code != want.code || !strings.Contains(got.Out, want.out) || !strings.Contains(got.Err, want.err) ||
		want.silent && got.Out != "" {
		t.Errorf("%s: got code %d\n%s%s\nwant %+v", what, got.Code, got.Out, got.Err, want)
	}
}

func TestCommandLine(t *testing.T) {
	program, err := product.CommandLine(t.Context(), t.TempDir(), product.Version)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{cluster.Start(t, cluster.Nodes(1, product.Archives(t)...), cluster.CertManager(), cluster.WithProvider()),
		program}
	w.Apply(t, before)
	t.Run("before the install", func(t *testing.T) { testBefore(t, w) })
	product.Install(t, w.Cluster, "defaultLoadBalancer.provider=none")
	t.Run("versions", func(t *testing.T) { testVersions(t, w) })
	t.Run("survey", func(t *testing.T) { testSurvey(t, w) })
	t.Run("import", func(t *testing.T) { testImport(t, w) })
	t.Run("muxes", func(t *testing.T) { testMuxes(t, w) })
}

func testBefore(t *testing.T, w *world) {
	const refused = `svcmux survey: services is forbidden: User "`
	w.expect(t, "an administrator", want{out: "4 load balancers become 1.\n"}, w.run(t, "", admin, "survey"))
	w.expect(t, "one namespace", want{out: "2 load balancers become 1.\n"}, w.run(t, "", admin, "survey", "-n", "chat"))
	w.expect(t, "a tenant in its namespace", want{out: "2 load balancers become 1.\n"},
		w.run(t, "", tenant, "survey", "-n", "shop"))
	w.expect(t, "a tenant in another namespace",
		want{code: 1, err: refused + `tenant" cannot list resource "services"`, silent: true},
		w.run(t, "", tenant, "survey", "-n", "chat"))
	w.expect(t, "a tenant for all namespaces", want{code: 1, err: "choose another namespace with -n", silent: true},
		w.run(t, "", tenant, "survey", "-A"))
	w.expect(t, "no rights", want{code: 1, err: refused + `nobody"`, silent: true}, w.run(t, "", nobody, "survey"))
	w.expect(t, "no installation", want{out: "svcmux " + product.Version + "\n"}, w.run(t, "", admin, "version"))
	w.expect(t, "completion of a namespace", want{out: "shop\n"}, w.run(t, "", admin, "__complete", "survey", "-n", "sh"))
}

func testVersions(t *testing.T, w *world) {
	got := w.run(t, "", admin, "version")
	want1 := "svcmux " + product.Version + "\nwebhook " + product.Version + ", in svc-mux/svc-mux-webhook\nreconciler " +
		product.Version + ", in svc-mux/svc-mux\n"
	if got.Out != want1 || got.Code != 0 {
		t.Errorf("got %+v, want %s", got, want1)
	}
	w.expect(t, "a tenant", want{out: "svcmux " + product.Version, err: "The releases in the cluster can't be read: " +
		"deployments.apps is forbidden"}, w.run(t, "", tenant, "version"))
	plugin, err := w.Run(t.Context(),
		cluster.Program{Args: []string{"/bin/sh", "-euc", `PATH="$PROGRAMS:$PATH" kubectl svcmux --help`},
			Env: []string{"PROGRAMS=" + filepath.Dir(w.program)}})
	if err != nil || !strings.Contains(plugin.Stdout, "Usage:\n  kubectl svcmux") {
		t.Errorf("as a plugin: %v\n%s", err, plugin.Stdout)
	}
	w.expect(t, "completion of a mux", want{out: "svc-mux/mux\n"},
		w.run(t, "", admin, "__complete", "import", "tcp-services", "--mux", ""))
}

// testSurvey applies the proposal: the webhook and the API server must accept it, and the reconciler must give the told
// numbers.
func testSurvey(t *testing.T, w *world) {
	report := w.run(t, "", admin, "survey", "-o", "wide")
	w.expect(t, "the report", want{out: "shop/web     443/TCP    20000    shared   chat/rooms   web-mux\n"}, report)
	proposal := w.run(t, "", admin, "survey", "-o", "yaml")
	w.accept(t, proposal.Out)
	w.Apply(t, proposal.Out)
	cluster.Eventually(t, "the told numbers are on the mux", func(ctx context.Context) error {
		for channel, ports := range map[string]string{
			"shop/web-mux": "https:443->20000", "shop/admin-mux": "tcp-8443:8443->8443", "chat/rooms-mux": "https:443->443",
			"chat/dns-mux": "tcp:53->53, udp:53->53",
		} {
			namespace, name, _ := strings.Cut(channel, "/")
			out, err := w.TryKubectl(ctx, "", "get", "service", name, "--namespace="+namespace,
				`--output=jsonpath={.metadata.annotations.svc-mux\.nowake\.ai/ports} `+
					`{.status.conditions[?(@.type=="svc-mux.nowake.ai/Programmed")].status}`)
			if err != nil {
				return err
			}
			if out.Stdout != ports+" True" {
				return errors.New(channel + " has ports and condition Programmed: " + out.Stdout + ", not " + ports + " True")
			}
		}
		return nil
	})
	w.expect(t, "the report after that", want{out: "4 load balancers: none can be shared.\n"},
		w.run(t, "", admin, "survey"))
	w.expect(t, "what is left to do", want{out: "shop/web     channel web-mux has its pods: set its type to ClusterIP"},
		w.run(t, "", admin, "survey"))
}

func testImport(t *testing.T, w *world) {
	const all = "2 entries become 2 channels of the mux svc-mux/mux.\n"
	w.expect(t, "an administrator", want{out: all}, w.run(t, "", admin, "import", "tcp-services"))
	w.expect(t, "a tenant, from the cluster", want{code: 1, err: `configmaps is forbidden: User "tenant"`, silent: true},
		w.run(t, "", tenant, "import", "tcp-services"))
	w.expect(t, "a tenant, from a file", want{code: 1, out: "1 of 2 entries become 1 channel", err: "You may not read " +
		"the mux svc-mux/mux"}, w.run(t, streams, tenant, "import", "tcp-services", "-f", "-"))
	w.expect(t, "no rights", want{code: 1, out: "0 of 2 entries"},
		w.run(t, streams, nobody, "import", "tcp-services", "-f", "-"))
	w.expect(t, "another mux",
		want{out: "2 channels of the mux shop/none", err: "There is no mux shop/none yet: create it"},
		w.run(t, "", admin, "import", "tcp-services", "--mux", "shop/none"))
	proposal := w.run(t, "", admin, "import", "tcp-services", "-o", "yaml")
	w.accept(t, proposal.Out)
	w.Apply(t, proposal.Out)
	w.Kubectl(t, "wait", "service", "redis-mux", "--namespace=chat", "--for=condition=svc-mux.nowake.ai/Accepted",
		"--timeout=60s")
	w.Kubectl(t, "wait", "service", "redis-mux", "--namespace=shop", "--for=condition=svc-mux.nowake.ai/Accepted",
		"--timeout=60s")
	w.expect(t, "the same again", want{out: all}, w.run(t, "", admin, "import", "tcp-services"))
	collide := w.run(t, "", admin, "import", "tcp-services", "--suffix", "-other")
	w.expect(t, "numbers that channels have", want{code: 1, out: "the number collides with port "}, collide)
}

// accept checks that the API server and the webhook accept manifests, without a warning.
func (w *world) accept(t *testing.T, manifests string) {
	t.Helper()
	out, err := w.TryKubectl(t.Context(), manifests, "apply", "--dry-run=server", "-f", "-")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.Stderr) {
		// In a dry run no mux is stored, so the webhook doesn't find it.
		if !strings.Contains(line, "there is no mux") {
			t.Errorf("a dry run warns: %s", line)
		}
	}
}
