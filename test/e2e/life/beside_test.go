package life

import (
	"fmt"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/product"
)

// other is a further release with its own prefix.
type other struct {
	product.Helm
	prefix, mux, objects string
}

func (o other) class() string { return o.prefix + "/" + o.mux + "." + o.Namespace }

// testBeside installs a release in another namespace, and another one in the same namespace. Each denies only its own
// Services, and each has a leader. Then one is uninstalled.
func testBeside(t *testing.T, w *world) {
	far := other{product.Helm{Release: product.Release, Namespace: "far", Values: []string{"certs.mode=selfManaged"}},
		"far.example.com", "mux", "svc-mux"}
	near := other{product.Helm{Release: "near", Namespace: product.Namespace}, "near.example.com", "edge", "near-svc-mux"}
	main := other{mainRelease(t), prefix, "mux", "svc-mux"}
	held := w.holds(t, product.Namespace, "mux", ports()...)
	for _, o := range []*other{&far, &near} {
		o.Values = append(o.Values, "api.prefix="+o.prefix, "defaultLoadBalancer.name="+o.mux, "webhook.replicas=1")
		w.takes(t, o.class())
		w.install(t, o.Helm)
	}
	for _, o := range []other{main, far, near} {
		w.lives(t, o, "beside")
		holder := w.Kubectl(t, "get", "lease", o.objects, "--namespace="+o.Namespace,
			"--output=jsonpath={.spec.holderIdentity}")
		if !strings.HasPrefix(holder, o.objects+"-") {
			t.Errorf("the lease of %s in %s is held by %q", o.Release, o.Namespace, holder)
		}
	}
	w.Helm(t, "uninstall", near.Release, "--namespace="+near.Namespace, "--wait")
	w.takes(t, near.class())
	for _, o := range []other{main, far} {
		w.lives(t, o, "still")
	}
	w.Helm(t, "uninstall", far.Release, "--namespace="+far.Namespace, "--wait")
	w.lives(t, main, "alone")
	w.Kubectl(t, "delete", "service", "--namespace="+shop, "--selector=beside")
	w.Kubectl(t, "delete", "--namespace="+near.Namespace, "service/edge", "configmap/edge-port-allocations",
		"lease/near-svc-mux",
		"secret/near-svc-mux-webhook-ca", "secret/near-svc-mux-webhook-tls")
	w.Kubectl(t, "delete", "namespace", far.Namespace, "--wait=false")
	held.end(t)
}

// lives checks that a release denies a bad channel, and programs a good one.
func (w *world) lives(t *testing.T, o other, name string) {
	t.Helper()
	w.refuses(t, o.class())
	name = fmt.Sprintf("%s-%s-%s", name, o.Release, o.Namespace)
	w.Apply(t, channel(name, o.class(), "auto"))
	w.Kubectl(t, "label", "service", name, "--namespace="+shop, "beside=true")
	w.Kubectl(t, "wait", "service", name, "--namespace="+shop, "--for=condition="+o.prefix+"/Programmed", "--timeout=60s")
}
