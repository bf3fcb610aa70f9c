package guard

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/certs/follow"
)

// Options say which webhook is checked and where faults are reported.
type Options struct {
	Client client.WithWatch
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	// Configuration is the ValidatingWebhookConfiguration's name.
	Configuration string
	// Namespace holds the Certificates and SelfManagedSecret.
	Namespace string
	// Certificates are the names of cert-manager's Certificates. SelfManagedSecret is the self-managed Secret's name,
	// or empty.
	Certificates      []string
	SelfManagedSecret string
	// Kept returns why the self-managed certificate can't be kept up to date. The function is nil unless certificates are
	// self-managed.
	Kept func() error
	// Leading says whether this process leads: only the leader emits Events.
	Leading func() bool
	Events  record.EventRecorder
	Metrics prometheus.Registerer
	Now     func() time.Time
}

const (
	// interval is the time between two handshakes without a change of the configuration.
	interval = 10 * time.Second
	// startupGrace delays the first Events: during an installation, missing objects aren't faults.
	startupGrace = 15 * time.Second
	// afterChange is the time from a change of the configuration to an additional handshake.
	afterChange = 500 * time.Millisecond
)

// Guard checks admission. It runs in every replica.
type Guard struct {
	options Options
	status  atomic.Pointer[Status]
	emitter eventEmitter

	// Only the goroutine of Start uses these.
	seen      observation
	services  map[target]*corev1.Service
	lastPlace target // the last Service that the configuration named
	updates   chan func()
}

// New returns a Guard that hasn't checked anything. Start runs it.
func New(options Options) *Guard {
	g := &Guard{options: options, services: map[target]*corev1.Service{}, updates: make(chan func())}
	g.status.Store(&Status{})
	g.seen.configuration = known{kind: "ValidatingWebhookConfiguration", name: options.Configuration}
	for _, name := range options.Certificates {
		g.seen.certificates = append(g.seen.certificates, certificate{known: known{kind: "Certificate", name: name}})
	}
	if options.SelfManagedSecret != "" {
		g.seen.secret = &known{kind: "Secret", name: options.SelfManagedSecret}
	}
	g.emitter = newEventEmitter(options.Events)
	options.Metrics.MustRegister(collector{g.Status})
	return g
}

// Status returns the result of the last check.
func (g *Guard) Status() Status { return *g.status.Load() }

// NeedLeaderElection returns false: each replica checks admission for its own readiness.
func (*Guard) NeedLeaderElection() bool { return false }

// Start checks until the context ends. It returns when all its goroutines have ended.
func (g *Guard) Start(ctx context.Context) error {
	var following sync.WaitGroup
	defer following.Wait()
	g.followAll(ctx, &following)
	started := g.options.Now()
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case apply := <-g.updates:
			before := g.seen.configuration
			apply()
			if before.object != g.seen.configuration.object {
				next.Reset(afterChange)
			}
		case <-next.C:
			g.look(ctx)
			next.Reset(interval)
		}
		g.conclude(started)
	}
}

// followAll watches each object. It applies every update separately, so that even a short fault is reported.
func (g *Guard) followAll(ctx context.Context, following *sync.WaitGroup) {
	watch := func(list client.ObjectList, namespace string, r *known) {
		key := types.NamespacedName{Namespace: namespace, Name: r.name}
		following.Go(func() {
			follow.Object(ctx, g.options.Client, list, key, func(news follow.News) {
				select {
				case g.updates <- func() { r.update(news, g.options.Now()) }:
				case <-ctx.Done():
				}
			})
		})
	}
	watch(&admissionregistrationv1.ValidatingWebhookConfigurationList{}, "", &g.seen.configuration)
	for i := range g.seen.certificates {
		watch(&cmapi.CertificateList{}, g.options.Namespace, &g.seen.certificates[i].known)
	}
	if g.seen.secret != nil {
		watch(&corev1.SecretList{}, g.options.Namespace, g.seen.secret)
	}
}

// look makes the handshakes and reads the issuers: no watch reports changes of these.
func (g *Guard) look(ctx context.Context) {
	shook := map[target]handshake{}
	entries := g.seen.entries()
	for i := range entries {
		place := targetOf(&entries[i].ClientConfig)
		if _, done := shook[place]; !done {
			shook[place] = g.tryHandshake(ctx, place)
		}
	}
	g.seen.handshakes = shook
	for i := range g.seen.certificates {
		g.checkIssuer(ctx, &g.seen.certificates[i])
	}
}

// conclude publishes the result. It publishes nothing before the configuration is read or can't be read, nor while an
// endpoint of the configuration has had no handshake yet.
func (g *Guard) conclude(started time.Time) {
	if g.options.Kept != nil {
		g.seen.kept = g.options.Kept()
	}
	now := g.options.Now()
	if r := g.seen.configuration; !r.heard && r.err == nil || !g.seen.tried() {
		return
	}
	status := judge(&g.seen, now)
	g.status.Store(&status)
	if g.options.Leading() && !now.Before(started.Add(startupGrace)) {
		g.emitter.emit(status, g.eventObject())
	}
}
