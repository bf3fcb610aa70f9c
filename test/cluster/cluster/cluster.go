package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"nowake.ai/svc-lb-mux/test/cluster/binaries"
	"nowake.ai/svc-lb-mux/test/cluster/host"
	"nowake.ai/svc-lb-mux/test/cluster/provider"
)

// Cluster is a running Kubernetes.
type Cluster struct {
	Host   *host.Host
	Config *rest.Config         // the administrator's, for clients in this process
	Client kubernetes.Interface // a client with Config

	Provider *provider.Provider // with WithProvider

	options    options
	bin        map[string]string // product name to folder
	pki        *pki
	configs    map[string]string // identity's name to its kubeconfig, for programs inside of the cluster
	components []*Component
	nodes      []*Node
	fakeNodes  int
	background context.Context // its end stops the goroutines that work for the cluster
	cancel     context.CancelFunc
	closers    []func() error
}

// Main is the TestMain of a test binary. The cluster's host is a process of this same program, in another role. Tests
// that leave controllers or informers running fail.
func Main(m *testing.M) {
	host.Reexec()
	code := m.Run()
	if left := lingering(); code == 0 && len(left) > 0 {
		fmt.Fprintf(os.Stderr, "FAIL: %d goroutines run on after the last test:\n%s\n", len(left), strings.Join(left, "\n\n"))
		code = 1
	}
	os.Exit(code)
}

// Start starts a cluster that ends with the test. Its logs are shown if the test fails.
func Start(t testing.TB, list ...Option) *Cluster {
	t.Helper()
	o := optionsOf(list)
	if o.nodes > 0 {
		requireNodes(t)
	}
	if _, ok := t.(*testing.T); ok { // benchmarks run alone
		list = append(list, func(o *options) { o.crowded = true })
	}
	c, err := Up(t.Context(), list...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.dump(t)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Up starts a cluster that ends with Close, or with this process.
func Up(ctx context.Context, list ...Option) (*Cluster, error) {
	c := &Cluster{options: optionsOf(list), configs: map[string]string{}}
	if err := c.up(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close ends the cluster and every process in it.
func (c *Cluster) Close() error {
	if c.cancel != nil {
		c.cancel()
	}
	var errs []error
	for _, closer := range slices.Backward(c.closers) {
		errs = append(errs, closer())
	}
	if c.Host != nil {
		errs = append(errs, c.Host.Close())
	}
	return errors.Join(errs...)
}

func (c *Cluster) up(ctx context.Context) (err error) {
	if err := missingPackages(c.options); err != nil {
		return err
	}
	if c.bin, err = c.programs(ctx); err != nil {
		return err
	}
	if c.Host, err = host.Start(); err != nil {
		return err
	}
	c.background, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	steps := []step{{"make its network and its keys", c.prepare}, {"start the API server", c.startAPIServer}}
	if !c.options.apiOnly {
		steps = append(steps, step{"start the controllers", c.startControllers})
	}
	steps = append(steps, step{"start what was asked for besides", c.startExtras})
	return c.take(ctx, startLimit, steps)
}

func (c *Cluster) programs(ctx context.Context) (map[string]string, error) {
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); c.options.apiOnly && assets != "" {
		return map[string]string{"kubernetes": assets}, nil
	}
	return Binaries(ctx, c.options.products()...)
}

// Binaries builds missing products, and returns the folder of each.
func Binaries(ctx context.Context, products ...binaries.Product) (map[string]string, error) {
	cache, err := binaries.Open()
	if err != nil {
		return nil, err
	}
	version, err := binaries.KubernetesVersion()
	if err != nil {
		return nil, err
	}
	return cache.Need(ctx, append([]binaries.Product{binaries.Kubernetes(version)}, products...)...)
}

// prepare makes the network, the keys and the files that the components need.
func (c *Cluster) prepare(ctx context.Context) (err error) {
	if err := errors.Join(os.Mkdir(filepath.Join(c.Host.Dir, "logs"), 0o700), c.linkPrograms()); err != nil {
		return err
	}
	if err := os.WriteFile(c.auditPolicy(), []byte(auditEverything), 0o600); err != nil {
		return err
	}
	if err := c.plugIn(ctx); err != nil {
		return err
	}
	if c.pki, err = newPKI(filepath.Join(c.Host.Dir, "pki")); err != nil {
		return err
	}
	if c.options.webhook != "" {
		if err := c.writeWebhookClient(); err != nil {
			return err
		}
	}
	for _, who := range identities() {
		if err := c.admit(who); err != nil {
			return err
		}
	}
	c.Config = c.restConfig("admin")
	c.Client, err = kubernetes.NewForConfig(c.Config)
	return err
}

// admit issues an identity's certificate, and writes its kubeconfig.
func (c *Cluster) admit(who identity) (err error) {
	if err := c.pki.issue(who); err != nil {
		return err
	}
	c.configs[who.file], err = c.pki.kubeconfig(who.file, apiURL())
	return err
}

// Component returns a component by its name, such as "kube-apiserver" or "kube-proxy.node-1".
func (c *Cluster) Component(name string) *Component {
	for _, p := range c.components {
		if p.Name == name {
			return p
		}
	}
	panic(fmt.Sprintf("cluster: no component %q", name))
}

// dump logs the end of each component's log if the test failed.
func (c *Cluster) dump(t testing.TB) {
	for _, p := range c.components {
		t.Logf("the end of the log of %s:\n%s", p.Name, p.Log(8))
	}
}

// until waits for a condition, and checks often: most conditions become true within milliseconds. It gives up when a
// component of the cluster has ended by itself.
func (c *Cluster) until(ctx context.Context, what string, ok func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not true after %s", patience))
	defer cancel()
	for {
		err := ok(ctx)
		if err == nil {
			return nil
		}
		for _, p := range c.components {
			if failed := p.failed(); failed != nil {
				return failed
			}
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return fmt.Errorf("interrupted while waiting until %s", what)
			}
			return fmt.Errorf("%s: not yet: %w: %w", what, context.Cause(ctx), err)
		case <-time.After(25 * time.Millisecond):
		}
	}
}
