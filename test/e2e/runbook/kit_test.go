// Package runbook runs the commands of docs/runbook.md, and checks that they have the promised effects.
package runbook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// book is the page, and a cluster in which its commands run.
type book struct {
	*cluster.Cluster
	blocks map[string]string // commands by heading
	done   map[string]bool
}

// open reads the page's commands. Those before the first heading set variables, and run before all others.
func open(t *testing.T) *book {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	b := &book{blocks: map[string]string{}, done: map[string]bool{}}
	heading, inside := "", false
	for line := range strings.Lines(string(page)) {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```sh\n"
		case inside:
			b.blocks[heading] += line
		case strings.HasPrefix(line, "##"):
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
	}
	b.Cluster = cluster.Start(t, cluster.APIServerOnly())

	return b
}

// follow runs the commands under a heading, and returns their output.
func (b *book) follow(t *testing.T, heading string, env ...string) string {
	t.Helper()
	commands := b.blocks[heading]
	if commands == "" {
		t.Fatalf("the page has no commands under %q", heading)
	}
	b.done[heading] = true
	out, err := b.Run(t.Context(), cluster.Program{
		Args: []string{"/bin/bash", "-euo", "pipefail", "-c", b.blocks[""] + "echo ---\n" + commands}, Env: env})
	if err != nil {
		t.Fatalf("%s: %v", heading, err)
	}
	_, printed, _ := strings.Cut(out.Stdout, "---\n")

	return printed
}

// unread returns the headings whose commands didn't run.
func (b *book) unread() []string {
	var left []string
	for heading := range b.blocks {
		if heading != "" && !b.done[heading] {
			left = append(left, heading)
		}
	}
	slices.Sort(left)

	return left
}

// reconcile runs a reconciler until stop is called.
func (b *book) reconcile(t *testing.T) (stop func()) {
	t.Helper()
	options := run.DefaultOptions(func(string) string { return "" })
	options.Namespace, options.ProbeAddress = "infra", "127.0.0.1:0"
	options.LeaseDuration, options.RenewDeadline = time.Minute, 50*time.Second
	p := run.Process{Options: options, Config: rest.CopyConfig(b.Config), Version: "test", Logs: io.Discard,
		Now: time.Now}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the reconciler failed: %v", err)
		}
	})
	t.Cleanup(stop)

	return stop
}

const shop = `apiVersion: v1
kind: Namespace
metadata: {name: infra}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Service
metadata:
  name: mux
  namespace: infra
  annotations:
    svc-mux.nowake.ai/multiplexer: "true"
    svc-mux.nowake.ai/port-range: 20000-20099
    svc-mux.nowake.ai/release-grace: 1h
spec:
  type: LoadBalancer
  allocateLoadBalancerNodePorts: false
  ports: [{name: placeholder, port: 101}]
`

// channel creates a channel that asks for auto.
func (b *book) channel(t *testing.T, name string) {
	t.Helper()
	b.Apply(t, fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: %s, namespace: shop, annotations: {svc-mux.nowake.ai/external-ports: "http:auto"}}
spec:
  type: LoadBalancer
  loadBalancerClass: svc-mux.nowake.ai/mux.infra
  allocateLoadBalancerNodePorts: false
  selector: {app: %[1]s}
  ports: [{name: http, port: 80}]
`, name))
}

// await waits until kubectl prints the wanted text.
func (b *book) await(t *testing.T, want string, args ...string) {
	t.Helper()
	var last string // the last complete output, because the timeout may end a kubectl
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%v: the last output was %q", args, last)
		}
	})
	cluster.Eventually(t, fmt.Sprintf("%v is %q", args, want), func(ctx context.Context) error {
		out, err := b.TryKubectl(ctx, "", args...)
		if err != nil {
			return err
		}
		if last = out.Stdout; !strings.Contains(last, want) {
			return fmt.Errorf("the output is %q", last)
		}
		return nil
	})
}

// awaitPort waits until a channel has a number.
func (b *book) awaitPort(t *testing.T, channel, number string) {
	t.Helper()
	b.await(t, "http:80->"+number, "get", "service", "-n", "shop", channel,
		"-o", `jsonpath={.metadata.annotations.svc-mux\.nowake\.ai/ports}`)
}

// awaitWaiting waits until a channel's condition says that its mux is frozen.
func (b *book) awaitWaiting(t *testing.T, channel string) {
	t.Helper()
	b.await(t, "Waiting", "get", "service", "-n", "shop", channel,
		"-o", `jsonpath={.status.conditions[?(@.type=="svc-mux.nowake.ai/Accepted")].reason}`)
}
