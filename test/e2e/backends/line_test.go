package backends

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"nowake.ai/svc-lb-mux/reconciler/backends"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/test/cluster/faults"
	"nowake.ai/svc-lb-mux/validation"
)

// running is the controller at work in this process.
type running struct {
	world
	proxy   *faults.Proxy
	board   *board
	metrics *backends.Metrics
	stop    func()

	mu   sync.Mutex
	told []plan.Event
}

// run starts the controller. It reads and writes through a proxy that counts requests.
func (w world) run(t *testing.T) *running {
	t.Helper()
	proxy, err := faults.Start(w.Config, faults.As(userName, "system:masters"))
	if err != nil {
		t.Fatal(err)
	}
	language, err := validation.New(prefix, muxes)
	if err != nil {
		t.Fatal(err)
	}
	r := &running{world: w, proxy: proxy, metrics: backends.NewMetrics()}
	r.board = &board{waker: &backends.Waker{}, claims: map[types.NamespacedName]map[types.NamespacedName][]plan.Claim{}}
	no, yes := false, true
	mgr, err := manager.New(proxy.Config(), manager.Options{
		Logger:         newLog(t),
		LeaderElection: no,
		Metrics:        metricsserver.Options{BindAddress: "0"},
		Controller:     config.Controller{SkipNameValidation: &yes},
		Cache:          cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	})
	if err != nil {
		t.Fatal(err)
	}
	options := backends.Options{Language: language, Claims: r.board.of, Waker: r.board.waker, Writer: mgr.GetClient(),
		Live: mgr.GetAPIReader(), Tell: r.tell, Metrics: r.metrics}
	ctx, cancel := context.WithCancel(context.Background())
	if err := errors.Join(backends.Index(ctx, mgr.GetFieldIndexer(), language), backends.Setup(mgr, options)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = proxy.Close()
	})
	t.Cleanup(r.stop)
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the cache doesn't sync")
	}
	return r
}

func (r *running) tell(e plan.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, e)
}

// events returns the Events about a mux.
func (r *running) events(mux string) []plan.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var about []plan.Event
	for _, e := range r.told {
		if e.Object == in(muxes, mux) {
			about = append(about, e)
		}
	}
	return about
}

// quiet waits until no requests have come for a while.
func (r *running) quiet(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := r.proxy.Quiet(ctx, 700*time.Millisecond, nil); err != nil {
		t.Fatal(err)
	}
}

// costs returns the requests to the API server during do, and until it is quiet again.
func (r *running) costs(t *testing.T, do func()) string {
	t.Helper()
	r.quiet(t)
	before := r.proxy.Snapshot()
	do()
	r.quiet(t)
	var lines []string
	cost := r.proxy.Snapshot().Sub(before)
	for _, key := range cost.Keys() {
		lines = append(lines,
			fmt.Sprintf("%d %s %s", cost[key], key.Verb, strings.TrimSuffix(key.Resource, ".discovery.k8s.io")))
	}
	return strings.Join(lines, ", ")
}

// board is a stub of the ledger's board.
type board struct {
	waker  *backends.Waker
	mu     sync.Mutex
	claims map[types.NamespacedName]map[types.NamespacedName][]plan.Claim // claims by mux and channel
}

func (b *board) of(channel, mux types.NamespacedName) ([]plan.Claim, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	of, known := b.claims[mux]
	return of[channel], known
}

// set sets a channel's claims: "http=1f0c5fd", "dns/UDP=ab12".
func (b *board) set(mux, channel string, claims ...string) {
	b.mu.Lock()
	m, c := in(muxes, mux), in(app, channel)
	if b.claims[m] == nil {
		b.claims[m] = map[types.NamespacedName][]plan.Claim{}
	}
	b.claims[m][c] = nil
	for _, claim := range claims {
		port, name, _ := strings.Cut(claim, "=")
		port, protocol, _ := strings.Cut(port, "/")
		if protocol == "" {
			protocol = "TCP"
		}
		b.claims[m][c] = append(b.claims[m][c], plan.Claim{MuxName: name,
			Owner: plan.PortID{Channel: c, Name: port, Protocol: corev1.Protocol(protocol)}})
	}
	b.mu.Unlock()
	b.waker.Wake([]types.NamespacedName{c})
}

func in(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// log holds the last lines of the controller's log.
var log struct {
	sync.Mutex
	lines []string
}

func newLog(*testing.T) logr.Logger {
	return funcr.New(func(prefix, args string) {
		log.Lock()
		defer log.Unlock()
		log.lines = append(log.lines, time.Now().Format("05.000 ")+prefix+" "+args)
		if len(log.lines) > 60 {
			log.lines = log.lines[1:]
		}
		if os.Getenv("LINE_LOG") != "" {
			fmt.Fprintln(os.Stderr, log.lines[len(log.lines)-1])
		}
	}, funcr.Options{Verbosity: 1})
}

func lastLog() string {
	log.Lock()
	defer log.Unlock()
	return strings.Join(log.lines, "\n")
}
