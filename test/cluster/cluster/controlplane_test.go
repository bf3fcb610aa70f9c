package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/binaries"
	"nowake.ai/svc-lb-mux/test/cluster/provider"
	"nowake.ai/svc-lb-mux/test/long"
)

func TestControlPlane(t *testing.T) {
	t.Parallel()
	c := Start(t, WithProvider(), Audit())
	t.Run("the version is the requested one", func(t *testing.T) {
		want, err := binaries.KubernetesVersion()
		if err != nil {
			t.Fatal(err)
		}
		out := c.Kubectl(t, "version")
		for _, side := range []string{"Client Version: v", "Server Version: v"} {
			if !strings.Contains(out, side+want+"\n") {
				t.Errorf("%q is missing in\n%s", side+want, out)
			}
		}
	})
	t.Run("a listener inside serves a Service", func(t *testing.T) { served(t, c) })
	t.Run("the audit log has each request", func(t *testing.T) {
		createService(t, c, "audited")
		Eventually(t, "the audit log has it", func(context.Context) error {
			events, err := c.Audited()
			if err != nil {
				return err
			}
			for _, event := range events {
				if event.Verb == "create" && event.ObjectRef.Resource == "services" && event.User.Username == "admin" {
					return nil
				}
			}
			return fmt.Errorf("not among %d audit events", len(events))
		})
	})
	t.Run("the provider's behaviour can be changed", func(t *testing.T) { providerObeys(t, c) })
	t.Run("components fail in every way and come back", func(t *testing.T) { componentsFail(t, c) })
}

// served lets this test serve a Service's endpoint, and sends requests from outside.
func served(t *testing.T, c *Cluster) {
	listener, err := c.Inside().Listen("tcp", controlPlaneIP+":9000")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "it is I")
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	c.Apply(t, `
apiVersion: v1
kind: Service
metadata: {name: own}
spec: {type: LoadBalancer, ports: [{name: http, port: 80}], ipFamilyPolicy: PreferDualStack}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: own, labels: {kubernetes.io/service-name: own}}
addressType: IPv4
ports: [{name: http, port: 9000}]
endpoints: [{addresses: [`+controlPlaneIP+`]}]
`)
	url := "http://" + address(t, c, "own")
	Eventually(t, "the server answers from outside", func(ctx context.Context) error {
		said, err := get(ctx, c.Outside().HTTP(), url)
		if err == nil && said != "it is I" {
			t.Fatalf("%s answers %q", url, said)
		}
		return err
	})
}

func providerObeys(t *testing.T, c *Cluster) {
	c.Apply(t, `{apiVersion: v1, kind: Service, metadata: {name: lb}, spec: {type: LoadBalancer, ports: [{port: 80}]}}`)
	first := address(t, c, "lb")
	ingress := func(want string) {
		t.Helper()
		Eventually(t, "the address is "+want, func(ctx context.Context) error {
			got, err := c.Client.CoreV1().Services("default").Get(ctx, "lb", metav1.GetOptions{})
			if err != nil {
				return err
			}
			var have string
			for _, ingress := range got.Status.LoadBalancer.Ingress {
				have += ingress.IP + ingress.Hostname
			}
			if have != want {
				return fmt.Errorf("the address is %q", have)
			}
			return nil
		})
	}
	c.Provider.BehaveTo("default/lb", provider.Name)
	ingress("default-lb.lb.example.com")
	c.Provider.BehaveTo("default/lb", provider.Take)
	ingress("")
	c.Provider.BehaveTo("default/lb", provider.Fail)
	Eventually(t, "an Event says that it failed", func(ctx context.Context) error {
		events, err := c.Client.CoreV1().Events("default").List(ctx,
			metav1.ListOptions{FieldSelector: "reason=SyncLoadBalancerFailed"})
		if err == nil && len(events.Items) == 0 {
			err = fmt.Errorf("no Event")
		}
		return err
	})
	c.Provider.Behave(provider.Give)
	ingress(first)
	before := c.Provider.Ensures("default/lb")
	c.Kubectl(t, "annotate", "service", "lb", "touched=yes")
	Eventually(t, "a change of annotations programs the load balancer again", func(context.Context) error {
		if now := c.Provider.Ensures("default/lb"); now != before+1 {
			return fmt.Errorf("the load balancer was programmed %d times, then %d", before, now)
		}
		return nil
	})
	c.Apply(t, `{apiVersion: v1, kind: Service, metadata: {name: classy}, spec: {type: LoadBalancer,
		loadBalancerClass: example.com/other, ports: [{port: 80}]}}`)
	time.Sleep(300 * time.Millisecond) // long enough for a wrong address to appear
	if got := c.Kubectl(t, "get", "service", "classy", "-o", "jsonpath={.status.loadBalancer}"); got != "{}" {
		t.Errorf("a Service of another class got %s", got)
	}
}

func componentsFail(t *testing.T, c *Cluster) {
	ctx := t.Context()
	api, manager := c.Component("kube-apiserver"), c.Component("kube-controller-manager")
	answers := func() error {
		short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		_, err := c.Client.CoreV1().Namespaces().Get(short, "default", metav1.GetOptions{})
		return err
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(api.Freeze())
	Eventually(t, "a frozen API server answers no more", func(context.Context) error { // each thread must get the signal
		if answers() == nil {
			return fmt.Errorf("it answers")
		}
		return nil
	})
	must(api.Thaw())
	must(c.WaitReady(ctx))
	must(api.Kill(ctx))
	if answers() == nil {
		t.Error("a killed API server answers")
	}
	must(api.Start())
	must(c.WaitReady(ctx))
	if err := api.Start(); err == nil {
		t.Error("a running component was started again")
	}
	must(manager.Stop(ctx))
	must(c.WaitReady(ctx)) // a component that was stopped on purpose isn't a failure
	c.Kubectl(t, "create", "deployment", "waits", "--image=none")
	time.Sleep(300 * time.Millisecond) // long enough for a wrong ReplicaSet to appear
	if sets := c.Kubectl(t, "get", "replicasets", "-o", "name"); sets != "" {
		t.Errorf("with the controller manager stopped there is %s", sets)
	}
	must(manager.Start())
	Eventually(t, "the controllers go on", func(context.Context) error {
		if c.Kubectl(t, "get", "replicasets", "-o", "name") == "" {
			return fmt.Errorf("no ReplicaSet")
		}
		return nil
	})
}

func TestTwoClustersDoNotMeet(t *testing.T) {
	long.Only(t, "the packages of test/e2e run beside each other")
	t.Parallel()
	one, two := Start(t), Start(t, IPTables())
	createService(t, one, "mine")
	if out := two.Kubectl(t, "get", "services", "-o", "name"); out != "service/kubernetes\n" {
		t.Errorf("the other cluster has the same object: %s", out)
	}
	listener, err := one.Inside().Listen("tcp", controlPlaneIP+":9000")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if conn, err := one.Outside().Dial(t.Context(), "tcp", controlPlaneIP+":9000"); err != nil {
		t.Errorf("a cluster can't reach its own listener: %v", err)
	} else {
		_ = conn.Close()
	}
	for name, dial := range map[string]func() (net.Conn, error){
		"from the other cluster": func() (net.Conn, error) {
			return two.Inside().Dial(t.Context(), "tcp", controlPlaneIP+":9000")
		},
		"to another network": func() (net.Conn, error) { return one.Inside().Dial(t.Context(), "tcp", "192.0.2.1:80") },
	} {
		if conn, err := dial(); err == nil {
			_ = conn.Close()
			t.Errorf("%s: connected", name)
		}
	}
}
