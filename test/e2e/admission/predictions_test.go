package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// testPredictions tests the webhook's predictions from the Services that it reads, as kubectl prints them. The webhook
// has only the chart's rights. No reconciler runs here: the test writes the muxes' ports itself.
func testPredictions(t *testing.T, w world) {
	for _, name := range []string{team, "team-v"} {
		w.namespace(t, name)
	}
	as := serviceAccount(t, w)
	t.Run("without predictions the webhook sends no requests", func(t *testing.T) { predictionsOff(t, w, as) })
	hook := runWebhook(t, w, "predicting", "--predict", "--predict-hide-holders=false", "--kubeconfig="+as)
	t.Run("without rights reviews still work", func(t *testing.T) { withoutRights(t, w, hook) })
	w.Apply(t, w.render(t, "webhook-roles.yaml"))
	awaitPredictions(t, w)
	t.Run("a channel that won't get what it asks for", func(t *testing.T) { channelsForeseen(t, w) })
	t.Run("a mux and its channels in one file", func(t *testing.T) { oneFile(t, w) })
	t.Run("a mux that drops channels", func(t *testing.T) { muxesForeseen(t, w) })
	t.Run("a mux is deleted", func(t *testing.T) { deletionForeseen(t, w) })
	t.Run("names for external-dns are denied", func(t *testing.T) { namesForExternalDNS(t, w) })
	t.Run("a mux is deleted while the webhook is down", func(t *testing.T) { deletionWhileDown(t, w, hook) })
	t.Run("the webhook reads only Services", func(t *testing.T) { readsServicesOnly(t, w) })
	hook.stop(t)
	t.Run("strict", func(t *testing.T) { strictly(t, w, as) })
	t.Run("routes of the Gateway API", func(t *testing.T) { routesForeseen(t, w, as) })
	w.Kubectl(t, "delete", "validatingwebhookconfiguration", clusterName)
}

func predictionsOff(t *testing.T, w world, as string) {
	hook := runWebhook(t, w, "plain", "--kubeconfig="+as)
	defer hook.stop(t)
	expectWarnings(t, w, manifest(team, "web", "nowhere", "http:8080"), nil, "apply", "--dry-run=server", "-f", "-")
	if requests := requestsOfWebhook(t, w); len(requests) > 0 {
		t.Errorf("the webhook sends requests: %v", requests)
	}
	if text := metricsOf(t, w); strings.Contains(text, "prediction") {
		t.Error("there are metrics about predictions")
	}
	if text := w.render(t, "webhook-configuration.yaml", "webhook.predictions.enabled=false"); strings.Contains(text,
		"DELETE") {
		t.Error("the API server calls the webhook for deletions, although it has no predictions")
	}
	// Helm fails if a template renders nothing.
	if out, err := w.tryRender(t, "webhook-roles.yaml", "webhook.predictions.enabled=false"); err == nil &&
		strings.Contains(out, "kind") {
		t.Errorf("the webhook has rights:\n%s", out)
	}
}

func withoutRights(t *testing.T, w world, hook process) {
	cluster.Eventually(t, "the log reports the missing rights once", func(context.Context) error {
		if log := hook.Log(100); strings.Count(log, "no predictions are made") != 1 || !strings.Contains(log, "forbidden") {
			return fmt.Errorf("the log is\n%s", log)
		}
		return nil
	})
	if text := metricsOf(t, w); !strings.Contains(text, "svc_lb_mux_admission_predictions_ready 0") {
		t.Error("the metric shows that predictions are ready")
	}
	if _, err := fetch(t.Context(), w, "http://"+machine(t, w)+":"+healthPort+"/readyz"); err != nil {
		t.Errorf("readiness: %v", err)
	}
	expectWarnings(t, w, manifest(team, "web", "nowhere", "http:8080"), nil, "apply", "--dry-run=server", "-f", "-")
	out, err := w.TryKubectl(t.Context(), manifest(team, "web", "nowhere", "http:8080", "external-ports", "grcp:1"),
		"apply", "-f", "-")
	if err == nil || !strings.Contains(out.Stderr, "grcp") {
		t.Errorf("a bad channel is allowed: %s", out.Stdout)
	}
}

// missing is the warning for a channel whose class names a missing mux.
const missing = "it will get no port: there is no mux svc-mux/nowhere: a Service by that name needs type " +
	"LoadBalancer and annotation " +
	`svc-mux.nowake.ai/multiplexer: "true"; or create this Service again with the class of another mux`

func channelsForeseen(t *testing.T, w world) {
	giveMux(t, w, "edge", map[string]string{"allowed-namespaces": "team-v," + team, "port-range": "20000"},
		port("team-v", "api", "http", 8080))
	expectWarnings(t, w, manifest("team-v", "api", "edge", "http:8080"), nil, "apply", "-f", "-")
	const conflict = `it will get no port: port "http" asks for 8080/TCP, ` +
		`and team-v/api (port "http") has it: ask for auto, ` +
		`or ask for another number such as 8081`
	web := manifest(team, "web", "edge", "http:8080")
	expectWarnings(t, w, web, []string{conflict}, "apply", "--dry-run=server", "-f", "-")
	expectWarnings(t, w, web, []string{conflict}, "apply", "--server-side", "--dry-run=server", "-f", "-")
	expectWarnings(t, w, web, []string{conflict}, "create", "--save-config", "-f", "-")
	expectWarnings(t, w, web, nil, "apply", "-f", "-")
	expectWarnings(t, w, "", nil, "label", "service/web", "a=b", "--namespace="+team)
	expectWarnings(t, w, manifest(team, "web", "edge", "http:8081"), nil, "apply", "-f", "-")
	expectWarnings(t, w, web, []string{conflict}, "apply", "-f", "-")

	expectWarnings(t, w, manifest(team, "picks", "edge", "http:80", "external-ports", "http:auto"), []string{
		"after this the mux svc-mux/edge has no number left for TCP in 20000: have its port-range widened in time",
	}, "apply", "--dry-run=server", "-f", "-")
	expectWarnings(t, w, manifest("default", "web", "edge", "http:80"), []string{
		"it will get no port: namespace default may not attach to the mux svc-mux/edge, which allows team-v," + team +
			": ask the mux's owner, or use another mux",
	}, "apply", "--dry-run=server", "-f", "-")
	expectWarnings(t, w, manifest(team, "lost", "nowhere", "http:80"), []string{
		missing,
	}, "apply", "--dry-run=server", "-f", "-")
	if text := metricsOf(t, w); !strings.Contains(text,
		`svc_lb_mux_admission_predictions_total{decision="warned",reason="MuxPortConflict"}`) {
		t.Error("conflicts aren't counted")
	}
}

// oneFile applies a mux and two channels in one file. Each must be known when the next is reviewed. On a busy machine
// the webhook's cache may be too late: then it warns of less, or that the mux doesn't exist yet.
func oneFile(t *testing.T, w world) {
	const tries, enough = 9, 2
	covered := 0
	for i := range tries {
		mux := fmt.Sprint("one-", i)
		file := muxManifest(mux) + "---\n" + manifest(team, mux+"-a", mux, "http:80") + "---\n" +
			manifest(team, mux+"-b", mux, "http:80")
		said, err := warnings(t.Context(), w, file, "apply", "-f", "-")
		if err != nil {
			t.Fatal(err)
		}
		conflict := `it will get no port: port "http" asks for 80/TCP, and ` + team + "/" + mux +
			`-a (port "http") has it: ask for another ` +
			"number such as 81"
		if slices.Equal(said, []string{conflict}) {
			if covered++; covered == enough {
				return
			}
			continue
		}
		for _, warning := range said {
			if warning != conflict && !strings.HasPrefix(warning, "it will get no port: there is no mux svc-mux/"+mux+":") {
				t.Errorf("unexpected warning for a file:\n%s", warning)
			}
		}
		t.Logf("NOT COVERED, because the webhook's cache was too late: %q", said)
	}
	t.Errorf("of %d files, %d were predicted right", tries, covered)
}

func muxesForeseen(t *testing.T, w world) {
	expectWarnings(t, w, "", nil, "label", "service/edge", "a=b", "--namespace="+namespace)
	expectWarnings(t, w, "", []string{
		"shuts out 1 channel (team-v/api), which will lose address and ports: to keep them, allow their namespaces beside " +
			team,
	}, "annotate", "--overwrite", "--dry-run=server", "service/edge", prefix+"/allowed-namespaces="+team,
		"--namespace="+namespace)
	expectWarnings(t, w, "", []string{
		"svc-mux/edge is no mux from now on, and 1 channel (team-v/api) will lose address and ports; make it a mux again, " +
			"and they get the same numbers",
	}, "annotate", "--dry-run=server", "service/edge", prefix+"/multiplexer-", "--namespace="+namespace)
	expectWarnings(t, w, muxManifest("edge"), []string{
		"takes 1 port of 1 channel (team-v/api) off the mux until the reconciler puts them back: apply the mux with its " +
			"own ports alone, and don't replace it",
	}, "replace", "--dry-run=server", "-f", "-")
}

func deletionForeseen(t *testing.T, w world) {
	want := []string{"with the mux svc-mux/edge, 1 channel (team-v/api) will lose address and ports; a mux made again " +
		"by that name gives them the same numbers"}
	expectWarnings(t, w, "", want, "delete", "--dry-run=server", "service/edge", "--namespace="+namespace)
	expectWarnings(t, w, "", want, "delete", "service/edge", "--namespace="+namespace)
	gone(t, w, namespace, "edge")
	giveMux(t, w, "unused", nil)
	expectWarnings(t, w, "", nil, "delete", "service/unused", "--namespace="+namespace)
	expectWarnings(t, w, "", nil, "delete", "service/web", "--namespace="+team)
}

func deletionWhileDown(t *testing.T, w world, hook process) {
	giveMux(t, w, "edge", nil, port("team-v", "api", "http", 8080))
	if err := hook.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectWarnings(t, w, "", nil, "delete", "service/edge", "--namespace="+namespace)
	gone(t, w, namespace, "edge")
	if err := hook.Start(); err != nil {
		t.Fatal(err)
	}
	awaitPredictions(t, w)
}

func readsServicesOnly(t *testing.T, w world) {
	allowed := map[string]bool{"get services": true, "list services": true, "watch services": true}
	requests := requestsOfWebhook(t, w)
	if len(requests) == 0 {
		t.Error("the webhook sent no requests: the filter is wrong")
	}
	for request := range requests {
		if !allowed[request] {
			t.Errorf("the webhook sends %s", request)
		}
	}
}

// routesForeseen uses a Gateway that no controller serves: the webhook predicts from the objects alone.
func routesForeseen(t *testing.T, w world, as string) {
	w.Apply(t, w.render(t, "webhook-roles.yaml", "gatewayApi.allocator=true"))
	w.Apply(t, fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: front, namespace: %s, annotations: {%s/port-range: 9000-9099}}
spec:
  gatewayClassName: of-nobody
  allowedListeners: {namespaces: {from: Selector, selector: {matchLabels: {kubernetes.io/metadata.name: %s}}}}
  listeners: [{name: mail, port: 9000, protocol: TCP}]`, namespace, prefix, team))
	before := requestsOfWebhook(t, w)
	hook := runWebhook(t, w, "routes", "--predict", "--gateway-api-allocator", "--kubeconfig="+as)
	route := func(in, number string) string {
		text := aRoute("TCPRoute", "asks", "@gateway: "+namespace+`/front, @external-ports: "`+number+`"`, "ListenerSet")
		return strings.Replace(text, "namespace: "+team, "namespace: "+in, 1)
	}
	dryRun := []string{"apply", dryRunFlag, "-f", "-"}
	gateway := namespace + "/gateway/front"
	expectWarnings(t, w, route(team, "9000"),
		[]string{`it will get no port: port "tcp" asks for 9000/TCP, which is the mux's own ` +
			`("listener mail"): ask for auto, or ask for another number such as 9001`}, dryRun...)
	expectWarnings(t, w, route(team, "auto"), nil, dryRun...)
	expectWarnings(t, w, route("team-v", "auto"),
		[]string{"it will get no port: namespace team-v may not attach to the mux " + gateway +
			": ask the mux's owner, or use another mux"}, dryRun...)
	expectWarnings(t, w, strings.Replace(route(team, "auto"), "/front", "/none", 1),
		[]string{"it will get no port: there is no Gateway " + namespace +
			"/none: create it, or name another one in the annotation gateway"}, dryRun...)
	hook.stop(t) // a watch is in the log once it has ended
	allowed, unused := map[string]bool{}, map[string]bool{}
	for _, kind := range []string{"services", "namespaces", "gateways", "listenersets", "tcproutes", "udproutes"} {
		allowed["list "+kind], allowed["watch "+kind], unused[kind] = true, true, true // a watch can replace a list
	}
	cluster.Eventually(t, "the webhook uses its rights and no others", func(context.Context) error {
		for request, n := range requestsOfWebhook(t, w) {
			if n == before[request] {
				continue
			}
			if !allowed[request] {
				return fmt.Errorf("the webhook sends %s", request)
			}
			_, kind, _ := strings.Cut(request, " ")
			delete(unused, kind)
		}
		if len(unused) > 0 {
			return fmt.Errorf("no request for %v", unused)
		}
		return nil
	})
}

func strictly(t *testing.T, w world, as string) {
	giveMux(t, w, "edge", nil, port("team-v", "api", "http", 8080))
	hook := runWebhook(t, w, "strict", "--predict", "--predict-strict", "--kubeconfig="+as)
	defer hook.stop(t)
	awaitPredictions(t, w)
	const want = `spec.ports: port "http" asks for 8080/TCP, ` +
		`which a channel of another namespace has: ask for another number ` +
		`such as 8081`
	apply := func(ctx context.Context, flags ...string) (denied bool) {
		out, err := w.TryKubectl(ctx, manifest(team, "second", "edge", "http:8080"),
			append([]string{"apply", "-f", "-"}, flags...)...)
		if err != nil && !strings.Contains(out.Stderr, want) {
			t.Errorf("the denial lacks our message: %v %s", err, out.Stderr)
		}
		return err != nil
	}
	cluster.Eventually(t, "the second channel is denied", func(ctx context.Context) error {
		if !apply(ctx, dryRunFlag) {
			return errors.New("the request is allowed")
		}
		return nil
	})
	switch before := skipped(t, w); {
	case apply(t.Context()):
		gone(t, w, team, "second")
	case skipped(t, w) > before:
		t.Log("NOT COVERED, because the webhook had no time for a prediction: the denial")
	default:
		t.Error("the request is allowed, although its dry run was denied")
	}
	// A missing mux is only a warning: it may be created a moment later.
	expectWarnings(t, w, manifest(team, "early", "nowhere", "http:80"), []string{missing}, "apply", "-f", "-")
}

// namesForExternalDNS uses a DNS name that the mux doesn't allow. Even without strict mode, the webhook denies it on a
// new channel, and on a channel that had no name before. A channel may keep a name that it had before.
func namesForExternalDNS(t *testing.T, w world) {
	const hostname, newer = "external-dns.alpha.kubernetes.io/hostname", "external-dns.kubernetes.io/internal-hostname"
	giveMux(t, w, "names", nil, port(team, "old", "http", 80), port(team, "plain", "web", 81))
	w.Apply(t, manifest(team, "old", "names", "http:80", hostname, "www.bank.example.com"))
	w.Apply(t, manifest(team, "plain", "names", "web:81"))
	w.Kubectl(t, "annotate", "service/names", "--namespace="+namespace,
		prefix+"/allowed-hostnames=*.{namespace}.example.com")
	denied := func(ctx context.Context, file string) error {
		out, err := w.TryKubectl(ctx, file, "apply", "-f", "-", dryRunFlag)
		switch {
		case err == nil:
			return errors.New("the request is allowed")
		case !strings.Contains(out.Stderr, "external-dns would publish www.bank.example.com") ||
			!strings.Contains(out.Stderr, "*.{namespace}.example.com"):
			return fmt.Errorf("the denial lacks our message: %s", out.Stderr)
		}
		return nil
	}
	for about, file := range map[string]string{
		"a new channel is denied": manifest(team, "new", "names", "http:8080", hostname, "www.bank.example.com"),
		"one of several names is denied": manifest(team, "new", "names", "http:8080", newer,
			"a."+team+".example.com,www.bank.example.com"),
		"a channel's first name is denied": manifest(team, "plain", "names", "web:81", hostname, "www.bank.example.com"),
	} {
		cluster.Eventually(t, about, func(ctx context.Context) error { return denied(ctx, file) })
	}
	w.Apply(t, manifest(team, "old", "names", "http:80", hostname, "www.bank.example.com", "example.com/more", "true"))
	w.Apply(t, manifest(team, "new", "names", "http:8080", hostname, "www."+team+".example.com",
		"external-dns.alpha.kubernetes.io/target", "www.bank.example.com"))
}
