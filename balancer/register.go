package balancer

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/validation"
)

// Leases reads and writes Leases of one namespace.
type Leases interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error)
	Create(ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error)
	Update(ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error)
}

const (
	leaseDuration = 15 * time.Second
	renewEvery    = 5 * time.Second
	// countEvery is the time between two looks at the kernel's counts. With 10,000 ports, a look is some work.
	countEvery = 10 * time.Second
	// reportPause is the shortest time between two reports: each report wakes the controller.
	reportPause  = 200 * time.Millisecond
	writeTimeout = 5 * time.Second
)

// Registrar renews this gateway's own Lease, and writes facts, reports and traffic into it.
type Registrar struct {
	Leases  Leases
	Keys    validation.Keys
	Metrics *Metrics
	Log     *zap.SugaredLogger
	// Addresses returns the addresses at which other gateways reach this one; before are those of the last call. If
	// Addresses is nil, the facts' addresses stay.
	Addresses func(before []netip.Addr) ([]netip.Addr, error)

	changed chan struct{}
	mu      sync.Mutex
	gateway lease.Gateway
	last    *coordinationv1.Lease // as the API server answered last
	said    string
	counted time.Time
}

// NewRegistrar returns a registrar for a gateway. Later, only its report, its traffic and the addresses in its facts
// change.
func NewRegistrar(leases Leases, gateway lease.Gateway, keys validation.Keys, metrics *Metrics,
	log *zap.SugaredLogger) *Registrar {
	gateway.Duration = leaseDuration
	return &Registrar{Leases: leases, Keys: keys, Metrics: metrics, Log: log, gateway: gateway,
		changed: make(chan struct{}, 1)}
}

// Report replaces the report, which is written soon.
func (r *Registrar) Report(report *lease.Report) {
	r.mu.Lock()
	r.gateway.Report = report
	r.mu.Unlock()
	wake(r.changed)
}

// Run writes until the context ends.
func (r *Registrar) Run(ctx context.Context) {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		r.count(time.Now())
		r.readAddresses()
		r.write(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(reportPause):
		}
		select {
		case <-ctx.Done():
			return
		case <-r.changed:
		case <-tick.C:
		}
	}
}

// count takes new counts for the Lease, if the last ones are older than countEvery.
func (r *Registrar) count(now time.Time) {
	if now.Sub(r.counted) < countEvery {
		return
	}
	r.counted = now
	traffic := r.Metrics.traffic.sample(now)
	r.mu.Lock()
	r.gateway.Traffic = traffic
	r.mu.Unlock()
}

// readAddresses puts the machine's present addresses into the facts: the machine may get an address after the agent's
// start. While it has none, the former addresses stay.
func (r *Registrar) readAddresses() {
	if r.Addresses == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	addresses, err := r.Addresses(r.gateway.Facts.Addresses)
	if err != nil || len(addresses) == 0 || slices.Equal(addresses, r.gateway.Facts.Addresses) {
		return
	}
	r.Log.Infow("Other gateways reach this one at other addresses now", "addresses", addresses)
	facts := *r.gateway.Facts
	facts.Addresses = addresses
	r.gateway.Facts = &facts
}

// write writes the Lease. After a conflict it reads the Lease again, once.
func (r *Registrar) write(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err := r.writeOnce(within)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		r.last = nil
		err = r.writeOnce(within)
	}
	text := ""
	if err != nil && ctx.Err() == nil {
		text = err.Error()
		r.last = nil
		r.Metrics.leaseErrors.Inc()
	}
	if text != r.said && text != "" {
		r.Log.Warnw("The gateway's Lease can't be written: the controller will see the gateway as away", "error", text)
	}
	r.said = text
}

func (r *Registrar) writeOnce(ctx context.Context) error {
	r.mu.Lock()
	gateway := r.gateway
	r.mu.Unlock()
	gateway.RenewedAt = time.Now()
	if r.last == nil {
		found, err := r.Leases.Get(ctx, lease.Name(gateway.Name), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return r.create(ctx, &gateway)
		}
		if err != nil {
			return err
		}
		r.noticeTwin(found)
		r.last = found
	}
	next := r.last.DeepCopy()
	if err := gateway.Write(next, r.Keys); err != nil {
		return err
	}
	written, err := r.Leases.Update(ctx, next, metav1.UpdateOptions{})
	if err == nil {
		r.last = written
	}
	return err
}

func (r *Registrar) create(ctx context.Context, gateway *lease.Gateway) error {
	next := &coordinationv1.Lease{}
	if err := gateway.Write(next, r.Keys); err != nil {
		return err
	}
	written, err := r.Leases.Create(ctx, next, metav1.CreateOptions{})
	if err == nil {
		r.last = written
	}
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("there is no Lease %s, and this account may not create it: create it with the label %s=%s, as "+
			"docs/gateways.md says of machines outside of the cluster: %w", next.Name, r.Keys.Pool, gateway.Pool, err)
	}
	return err
}

// noticeTwin warns of another process that renews the Lease. A process that was killed looks the same until its Lease
// expires.
func (r *Registrar) noticeTwin(found *coordinationv1.Lease) {
	other, is := lease.Read(found, r.Keys)
	if is && other.Holder != "" && other.Holder != r.gateway.Holder && other.IsFresh(time.Now()) {
		r.Log.Warnw("Another process renewed this gateway's Lease: if this warning comes again and again, give each "+
			"machine another --name", "gateway", r.gateway.Name, "holder", other.Holder)
	}
}
