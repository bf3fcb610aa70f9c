// Package provider plays the cloud: it gives addresses from a pool to Services of type LoadBalancer without a class.
// Tests can make it slow, let it fail, give a host name, or take an address back.
//
// It behaves like a cloud's service controller. It never touches a Service with a class. It programs a load balancer
// again whenever its Service's spec or annotations change, and counts how often.
package provider

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Behaviour is how the provider treats a Service.
type Behaviour string

// The behaviours. The default is Give.
const (
	Give Behaviour = "give" // gives an address per family of the Service
	Name Behaviour = "name" // gives a host name, as AWS does
	Wait Behaviour = "wait" // gives nothing for now; a present address stays
	Fail Behaviour = "fail" // emits an Event with an error; a present address stays
	Take Behaviour = "take" // takes a present address back
)

// Provider is a running provider.
type Provider struct {
	client kubernetes.Interface
	queue  workqueue.TypedRateLimitingInterface[string]
	store  cache.Store

	mu       sync.Mutex
	pool     *pool
	all      Behaviour
	one      map[string]Behaviour
	ensured  map[string]string // each Service's spec and annotations when its load balancer was last programmed
	ensures  map[string]int
	finished chan struct{}
}

// Start runs a provider until ctx ends. Its pool has both prefixes, or one if the other is the zero value.
func Start(ctx context.Context, client kubernetes.Interface, four, six netip.Prefix) (*Provider, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	services := factory.Core().V1().Services().Informer()
	p := &Provider{
		client: client, store: services.GetStore(), pool: newPool(four, six), all: Give,
		one: map[string]Behaviour{}, ensured: map[string]string{}, ensures: map[string]int{},
		finished: make(chan struct{}),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](20*time.Millisecond, 30*time.Second)),
	}
	enqueue := func(object any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			p.queue.Add(key)
		}
	}
	_, err := services.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, object any) { enqueue(object) }, DeleteFunc: enqueue})
	if err != nil {
		return nil, fmt.Errorf("watch Services: %w", err)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), services.HasSynced) {
		return nil, fmt.Errorf("watch Services: %w", context.Cause(ctx))
	}
	p.learn()
	go p.work(ctx)
	return p, nil
}

// Finished returns a channel that is closed when the provider has ended.
func (p *Provider) Finished() <-chan struct{} { return p.finished }

// Behave changes the behaviour for every Service, and drops exceptions.
func (p *Provider) Behave(how Behaviour) {
	p.mu.Lock()
	p.all = how
	clear(p.one)
	p.mu.Unlock()
	for _, key := range p.store.ListKeys() {
		p.queue.Add(key)
	}
}

// BehaveTo changes the behaviour for one Service ("namespace/name").
func (p *Provider) BehaveTo(key string, how Behaviour) {
	p.mu.Lock()
	p.one[key] = how
	p.mu.Unlock()
	p.queue.Add(key)
}

// Ensures returns how often a Service's load balancer was programmed: once, and again at each change of its spec or
// annotations.
func (p *Provider) Ensures(key string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ensures[key]
}

// learn removes addresses in use from the pool, before any address is given.
func (p *Provider) learn() {
	for _, object := range p.store.List() {
		service, ok := object.(*corev1.Service)
		if !ok || !ours(service) {
			continue
		}
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			if ip, err := netip.ParseAddr(ingress.IP); err == nil {
				p.pool.hold(service.Namespace+"/"+service.Name, ip)
			}
		}
	}
}

func (p *Provider) work(ctx context.Context) {
	defer close(p.finished)
	stop := context.AfterFunc(ctx, p.queue.ShutDown)
	defer stop()
	for {
		key, shutdown := p.queue.Get()
		if shutdown {
			return
		}
		if err := p.ensure(ctx, key); err != nil {
			p.queue.AddRateLimited(key)
		} else {
			p.queue.Forget(key)
		}
		p.queue.Done(key)
	}
}

func (p *Provider) behaviour(key string) Behaviour {
	p.mu.Lock()
	defer p.mu.Unlock()
	if how, ok := p.one[key]; ok {
		return how
	}
	return p.all
}

// ours returns whether a load balancer is left to the cluster's default provider.
func ours(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.Spec.LoadBalancerClass == nil
}
