package certs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"nowake.ai/svc-lb-mux/certs/selfmanaged"
	"nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

// release is an install of the chart's objects in one mode. Its webhook and its reconciler run in the test's process.
type release struct {
	w                  *world
	name, prefix, port string
	set                []string
	hook               hook
	log                *product.Log
}

func (r *release) webhook() string       { return r.name + "-webhook" }
func (r *release) configuration() string { return r.name + "." + namespace }

func (r *release) secret() string {
	if strings.Contains(strings.Join(r.set, " "), "provided") {
		return r.name + "-own"
	}
	return r.webhook() + "-tls"
}

// install applies the chart's objects, and serves the webhook.
func (r *release) install(t *testing.T, templates ...string) {
	t.Helper()
	r.upgrade(t, templates...)
	t.Cleanup(func() {
		_, _ = r.w.TryKubectl(context.WithoutCancel(t.Context()), "", "delete", "validatingwebhookconfiguration",
			r.configuration())
	})
	r.serve(t)
}

// upgrade applies the chart's objects for admission, and for the reconciler's rights.
func (r *release) upgrade(t *testing.T, templates ...string) {
	t.Helper()
	set := append([]string{"api.prefix=" + r.prefix, "webhook.predictions.enabled=true"}, r.set...)
	templates = append([]string{"webhook-configuration.yaml", "reconciler-roles.yaml", "reconciler-guard-roles.yaml",
		"reconciler-policy.yaml"}, templates...)
	manifests := r.w.render(t, r.name, set, templates...)
	if _, err := r.w.TryKubectl(t.Context(), manifests, "apply", "--namespace", namespace, "-f", "-"); err != nil {
		t.Fatal(err)
	}
}

// reconcile runs the reconciler with the chart's rights.
func (r *release) reconcile(t *testing.T, edit func(*run.Process)) (stop func()) {
	t.Helper()
	options := run.DefaultOptions(func(string) string { return "" })
	options.APIPrefix, options.Namespace, options.ProbeAddress = r.prefix, namespace, "127.0.0.1:0"
	options.LeaseName = r.name
	options.RetryPeriod = time.Second
	options.WebhookConfiguration = r.configuration()
	log := &product.Log{}
	r.log = log
	p := run.Process{Options: options, Config: r.account(t), Version: "test", Logs: log, Now: time.Now,
		Dial: r.w.Inside().Dial}
	edit(&p)
	ctx, cancel := detached(t)
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the reconciler failed: %v", err)
		}
	})
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("reconciler's log:\n%s", log)
		}
	})
	return stop
}

// account returns the client configuration of the reconciler's ServiceAccount.
func (r *release) account(t *testing.T) *rest.Config {
	t.Helper()
	accounts := r.w.Client.CoreV1().ServiceAccounts(namespace)
	_, _ = accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: r.name}},
		metav1.CreateOptions{})
	token, err := accounts.CreateToken(t.Context(), r.name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &rest.Config{
		Host: r.w.Config.Host, Dial: r.w.Config.Dial, QPS: -1, BearerToken: token.Status.Token, UserAgent: "reconciler",
		TLSClientConfig: rest.TLSClientConfig{CAFile: r.w.Config.CAFile},
	}
}

// probe sends a request to the reconciler's probe server.
func (r *release) probe(ctx context.Context, path string) (int, string, error) {
	found := regexp.MustCompile(`"probeAddress":"([^"]+)"`).FindStringSubmatch(r.log.String())
	if found == nil {
		return 0, "", errors.New("the log doesn't show the probe address yet")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+found[1]+path, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// events returns the reasons of the Events about the webhook's Service.
func (r *release) events(ctx context.Context) ([]string, error) {
	list, err := r.w.Client.CoreV1().Events(namespace).List(ctx,
		metav1.ListOptions{FieldSelector: "involvedObject.name=" + r.webhook()})
	if err != nil {
		return nil, err
	}
	var all []string
	for i := range list.Items {
		event := &list.Items[i]
		for range max(event.Count, 1) {
			all = append(all, event.Type+" "+event.Reason)
		}
	}
	return all, nil
}

// awaitOnGuard waits until readiness and metric show that admission is on guard, and the Event, if one is due.
func (r *release) awaitOnGuard(t *testing.T) {
	t.Helper()
	begin := time.Now()
	cluster.Eventually(t, "admission is on guard", func(ctx context.Context) error {
		code, text, err := r.probe(ctx, "/readyz")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("/readyz returns %s", text)
		}
		if err != nil {
			return err
		}
		return r.shows(ctx, "svc_lb_mux_admission_on_guard 1")
	})
	t.Logf("on guard after %s", time.Since(begin).Round(100*time.Millisecond))
}

// awaitFault waits until readiness, metric and a new Event report a fault.
func (r *release) awaitFault(t *testing.T, reason string, before []string) {
	t.Helper()
	begin := time.Now()
	cluster.Eventually(t, reason+" is reported", func(ctx context.Context) error {
		code, text, err := r.probe(ctx, "/readyz")
		if err == nil && (code == http.StatusOK || !strings.Contains(text, "admission: "+reason+": ")) {
			err = fmt.Errorf("/readyz returns %d %s", code, text)
		}
		if err == nil {
			err = r.shows(ctx, `svc_lb_mux_admission_fault{reason="`+reason+`"} 1`)
		}
		if err == nil {
			err = r.told(ctx, "Warning "+reason, before)
		}
		return err
	})
	t.Logf("%s was reported after %s", reason, time.Since(begin).Round(100*time.Millisecond))
}

// told returns nil if there are more Events with this text than before.
func (r *release) told(ctx context.Context, event string, before []string) error {
	now, err := r.events(ctx)
	if err != nil {
		return err
	}
	count := func(list []string) (n int) {
		for _, one := range list {
			if one == event {
				n++
			}
		}
		return n
	}
	if count(now) <= count(before) {
		slices.Sort(now)
		return fmt.Errorf("events: %q", now)
	}
	return nil
}

func (r *release) awaitTold(t *testing.T, event string, before []string) {
	t.Helper()
	cluster.Eventually(t, event+" is reported", func(ctx context.Context) error { return r.told(ctx, event, before) })
}

func (r *release) eventsNow(t *testing.T) []string {
	t.Helper()
	all, err := r.events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (r *release) shows(ctx context.Context, series string) error {
	_, text, err := r.probe(ctx, "/metrics")
	if err == nil && !strings.Contains(text, series+"\n") {
		err = fmt.Errorf("no series %s", series)
	}
	return err
}

func shortLives() selfmanaged.Policy {
	return selfmanaged.Policy{Authority: 75 * time.Second, Leaf: 40 * time.Second, Renew: 13 * time.Second,
		Trusted: 5 * time.Second,
		Settle:  3 * time.Second, Overlap: 12 * time.Second}
}
