// Package conformance runs the TCPRoute and UDPRoute tests of the Gateway API's conformance suite, with real pods and
// real packets.
//
// This is no conformance report. The suite's own setup waits for Gateways over HTTP, which an implementation of layer 4
// doesn't serve, so the tests run over base manifests of this package. skipped lists those that don't run, and why.
package conformance

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	suiteapi "sigs.k8s.io/gateway-api/conformance"
	"sigs.k8s.io/gateway-api/conformance/tests"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/pkg/features"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/long"
	"nowake.ai/svc-lb-mux/test/product"
)

// skipped are tests that don't run.
func skipped() map[string]string {
	const other = "it waits for a Gateway that has other listeners than TCP and UDP alone, which isn't accepted here; " +
		"TestServed has such a route"
	return map[string]string{
		"TCPRouteInvalidNonTCPListener": other,
		"UDPRouteNotAllowedByListeners": other,
		"UDPRoute": "its backend is CoreDNS from a registry; UDPRouteParentRefPortAndSectionName " +
			"shows the same with an image that is built here",
	}
}

// inside is set in the process that runs the suite: it is a client outside of the cluster. Its value says whether a
// provider or gateways carry the muxes.
const (
	inside     = "CONFORMANCE_INSIDE"
	byProvider = "provider"
	byGateways = "gateways"
)

func TestMain(m *testing.M) {
	if os.Getenv(inside) != "" {
		os.Exit(m.Run())
	}
	cluster.Main(m)
}

// base has the objects that these tests need from the suite's own setup.
const base = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: mux}
spec:
  controllerName: svc-mux.nowake.ai/gateway
  parametersRef: {group: "", kind: ConfigMap, namespace: svc-mux, name: muxes}
---
{apiVersion: v1, kind: Namespace, metadata: {name: gateway-conformance-infra, labels: {gateway-conformance: infra}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: gateway-conformance-app-backend,
  labels: {gateway-conformance: backend}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: gateway-conformance-web-backend,
  labels: {gateway-conformance: backend}}}
`

// TestProvider runs the suite over a provider's load balancers.
func TestProvider(t *testing.T) {
	if os.Getenv(inside) != "" {
		t.Skip("this process runs the suite")
	}
	c := cluster.Start(t, cluster.Nodes(1, append(product.Archives(t), echo(t))...), cluster.WithProvider(),
		cluster.Helm())
	run(t, c, byProvider, "spec: {}", nil)
}

// TestGateways runs the suite over a pool of gateways, which weigh backends.
func TestGateways(t *testing.T) {
	long.Only(t, "TestProvider runs the same tests, and balancer shows that weights are exact")
	if os.Getenv(inside) != "" {
		t.Skip("this process runs the suite")
	}
	c := cluster.Start(t, cluster.Nodes(1, append(product.Archives(t, "gateway"), echo(t))...), cluster.Helm())
	run(t, c, byGateways, "spec: {loadBalancerClass: gateway.svc-mux.nowake.ai/rack}",
		[]string{"images.gateway.tag=" + product.Version, "gateways.pools[0].name=rack",
			"gateways.pools[0].addresses={172.31.0.100-172.31.0.139}", "gateways.pools[0].routerIDs={51}"})
}

// run installs the product, and runs the suite as a client outside of the cluster.
func run(t *testing.T, c *cluster.Cluster, by, template string, values []string) {
	t.Helper()
	product.InstallGatewayAPI(t, c)
	product.Install(t, c,
		append(values, "certs.mode=selfManaged", "replicaCount=1", "webhook.replicas=1", "gatewayApi.implementation=true",
			"defaultLoadBalancer.create=false")...)
	c.Kubectl(t, "create", "configmap", "muxes", "--namespace=svc-mux", "--from-literal=service="+template)
	c.Apply(t, base)
	for _, namespace := range []string{"infra", "app-backend", "web-backend"} { // the tests wait for a pod in each
		c.Apply(t, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: base, namespace: gateway-conformance-%s}
spec:
  selector: {matchLabels: {app: base}}
  template:
    metadata: {labels: {app: base}}
    spec: {containers: [{name: pod, image: %s, args: [serve]}]}`, namespace, cluster.PodImage))
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.Run(t.Context(), cluster.Program{Net: "outside", Env: []string{inside + "=" + by},
		Args: []string{program, "-test.v", "-test.run=^TestSuite$", "-test.timeout=20m"}})
	var told []string
	for line := range strings.SplitSeq(out.Stdout, "\n") {
		if strings.HasPrefix(line, "    --- ") {
			told = append(told, strings.TrimSpace(line))
		}
	}
	t.Logf("%d tests:\n%s", len(told), strings.Join(told, "\n"))
	if err != nil {
		t.Errorf("the suite failed: %v\n%s", err, out.Stdout)
		t.Log(c.TryKubectl(context.WithoutCancel(t.Context()), "", "logs", "--namespace=svc-mux", "deployment/svc-mux",
			"--tail=60"))
	}
	if len(told) < 15 {
		t.Errorf("only %d tests ran", len(told))
	}
}

// echo builds the image of the suite's backends from its module.
func echo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir+"/echo",
		"sigs.k8s.io/gateway-api/conformance/echo-basic")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var images []cluster.Image
	for _, name := range imagesOf(t) {
		images = append(images, cluster.Image{Name: name, Program: dir + "/echo", As: "/echo", Entrypoint: []string{"/echo"}})
	}
	archive := filepath.Join(dir, "echo.tar")
	if err := cluster.WriteArchive(archive, images...); err != nil {
		t.Fatal(err)
	}
	return archive
}

// imagesOf returns the names under which the suite's manifests know the image.
func imagesOf(t *testing.T) (names []string) {
	t.Helper()
	err := fs.WalkDir(suiteapi.Manifests, "tests", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		text, err := suiteapi.Manifests.ReadFile(path)
		for line := range strings.SplitSeq(string(text), "\n") {
			_, name, is := strings.Cut(line, "image: ")
			if name = strings.TrimSpace(name); is && strings.Contains(name, "/echo-basic:") && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return err
	})
	if err != nil || len(names) == 0 {
		t.Fatalf("%v: %v", names, err)
	}
	return names
}

// TestSuite runs in a process of its own, as a client outside of the cluster.
func TestSuite(t *testing.T) {
	if os.Getenv(inside) == "" {
		t.Skip("TestProvider and TestGateways run it")
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	types := scheme.Scheme
	for _, add := range []func() error{func() error { return gatewayv1.Install(types) },
		func() error { return apiextensionsv1.AddToScheme(types) }} {
		if err := add(); err != nil {
			t.Fatal(err)
		}
	}
	api, err := client.New(config, client.Options{Scheme: types})
	if err != nil {
		t.Fatal(err)
	}
	s, err := suite.NewConformanceTestSuite(suite.ConformanceOptions{
		Client: api, RestConfig: config, ManifestFS: []fs.FS{suiteapi.Manifests},
		ConfigurableOptions: suite.ConfigurableOptions{GatewayClassName: "mux", CleanupTestResources: true,
			DisableParallelTests: true,
			SupportedFeatures: []features.FeatureName{features.SupportGateway, features.SupportTCPRoute,
				features.SupportUDPRoute, features.SupportReferenceGrant}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.ControllerName = "svc-mux.nowake.ai/gateway"
	s.Applier.ManifestFS, s.Applier.GatewayClass = s.ManifestFS, s.GatewayClassName
	s.Applier.ControllerName = s.ControllerName
	for i := range tests.ConformanceTests {
		test := &tests.ConformanceTests[i]
		if !slices.Contains(test.Features, features.SupportTCPRoute) &&
			!slices.Contains(test.Features, features.SupportUDPRoute) {
			continue
		}
		t.Run(test.ShortName, func(t *testing.T) {
			if why := skipped()[test.ShortName]; why != "" {
				t.Skip(why)
			}
			if os.Getenv(inside) == byProvider && strings.HasSuffix(test.ShortName, "WeightedRouting") {
				t.Skip("kube-proxy can't weigh backends: such a route isn't accepted, with the reason UnequalWeights; " +
					"TestGateways runs it")
			}
			test.Run(t, s)
		})
	}
}
