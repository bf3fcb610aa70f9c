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

// Options say what is guarded, and whom to tell.
type Options struct {
	Client client.WithWatch
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	// Configuration is the ValidatingWebhookConfiguration's name.
	Configuration string
	// Namespace is where Certificates and SelfManagedSecret are.
	Namespace string
	// Certificates are the names of cert-manager's; SelfManagedSecret is empty where there is none.
	Certificates      []string
	SelfManagedSecret string
	// Kept says what hinders the self-managed certificate's keeper; nil where there is none.
	Kept func() error
	// Leading says whether this process is the one that emits Events.
	Leading func() bool
	Events  record.EventRecorder
	Metrics prometheus.Registerer
	Now     func() time.Time
}

const (
	// interval is the time between two looks, whatever the API server tells meanwhile.
	interval = 10 * time.Second
	// patience is for how long Events wait at the start: while things are being installed, nothing is amiss.
	patience = 15 * time.Second
	// soon is how long after a change of the configuration there is a look besides.
	soon = 500 * time.Millisecond
)

// Guard looks, in every replica.
type Guard struct {
	options Options
	status  atomic.Pointer[Status]
	teller  teller

	// Of the one goroutine that looks.
	seen     observation
	services map[target]*corev1.Service
	place    target // of the last Service that the configuration named
	news     chan func()
}

// New does nothing yet.
func New(options Options) *Guard {
	g := &Guard{options: options, services: map[target]*corev1.Service{}, news: make(chan func())}
	g.status.Store(&Status{})
	g.seen.configuration = known{kind: "ValidatingWebhookConfiguration", name: options.Configuration}
	for _, name := range options.Certificates {
		g.seen.certificates = append(g.seen.certificates, certificate{known: known{kind: "Certificate", name: name}})
	}
	if options.SelfManagedSecret != "" {
		g.seen.secret = &known{kind: "Secret", name: options.SelfManagedSecret}
	}
	g.teller = newTeller(options.Events)
	options.Metrics.MustRegister(collector{g.Status})
	return g
}

// Status is what was found last.
func (g *Guard) Status() Status { return *g.status.Load() }

// NeedLeaderElection is false: each replica is ready only if admission is on guard, as far as it sees.
func (*Guard) NeedLeaderElection() bool { return false }

// Start looks until the context ends, and returns when nothing of it runs any more.
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
		case take := <-g.news:
			before := g.seen.configuration
			take()
			if before.object != g.seen.configuration.object {
				next.Reset(soon)
			}
		case <-next.C:
			g.look(ctx)
			next.Reset(interval)
		}
		g.conclude(started)
	}
}

// followAll has the API server tell of each object. What it tells is taken one by one: also a fault that is over in a
// moment is one.
func (g *Guard) followAll(ctx context.Context, following *sync.WaitGroup) {
	one := func(list client.ObjectList, namespace string, r *known) {
		key := types.NamespacedName{Namespace: namespace, Name: r.name}
		following.Go(func() {
			follow.Object(ctx, g.options.Client, list, key, func(news follow.News) {
				select {
				case g.news <- func() { r.hear(news, g.options.Now()) }:
				case <-ctx.Done():
				}
			})
		})
	}
	one(&admissionregistrationv1.ValidatingWebhookConfigurationList{}, "", &g.seen.configuration)
	for i := range g.seen.certificates {
		one(&cmapi.CertificateList{}, g.options.Namespace, &g.seen.certificates[i].known)
	}
	if g.seen.secret != nil {
		one(&corev1.SecretList{}, g.options.Namespace, g.seen.secret)
	}
}

// look asks for what nobody tells of.
func (g *Guard) look(ctx context.Context) {
	shook := map[target]handshake{}
	entries := g.seen.entries()
	for i := range entries {
		place := targetOf(&entries[i].ClientConfig)
		if _, done := shook[place]; !done {
			shook[place] = g.shake(ctx, place)
		}
	}
	g.seen.handshakes = shook
	for i := range g.seen.certificates {
		g.lookForIssuer(ctx, &g.seen.certificates[i])
	}
}

// conclude says what was found. Until the first word about the configuration, and while a place that it names wasn't tried,
// there is nothing new to say.
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
	if g.options.Leading() && !now.Before(started.Add(patience)) {
		g.teller.tell(status, g.about())
	}
}
