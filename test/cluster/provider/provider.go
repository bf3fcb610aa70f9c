// Package provider plays the cloud: it gives Services of type LoadBalancer, if they name no class, an address from
// a pool, and can be told to be slow, to fail, to give a name instead, and to take an address back.
//
// It does what a cloud's service controller does and no more: it never touches a Service that has a class, it
// re-ensures a load balancer whenever its Service's spec or annotations change, and it counts how often.
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

// A Behaviour is how the provider treats a Service.
type Behaviour string

// The behaviours; Give is what it does unless told otherwise.
const (
	Give Behaviour = "give" // an address of each of the Service's families
	Name Behaviour = "name" // a host name instead, as AWS does
	Wait Behaviour = "wait" // nothing, for now; what was given stays
	Fail Behaviour = "fail" // an Event that says why not; what was given stays
	Take Behaviour = "take" // nothing, and what was given goes
)

// A Provider is a running one.
type Provider struct {
	client kubernetes.Interface
	queue  workqueue.TypedRateLimitingInterface[string]
	store  cache.Store

	mu       sync.Mutex
	pool     *pool
	all      Behaviour
	one      map[string]Behaviour
	ensured  map[string]string // what of each Service was last acted on
	ensures  map[string]int
	finished chan struct{}
}

// Start runs a provider until ctx ends; its pool is both prefixes, or one if the other is the zero value.
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

// Finished is closed when the provider has ended.
func (p *Provider) Finished() <-chan struct{} { return p.finished }

// Behave changes how every Service is treated, and the exceptions are forgotten.
func (p *Provider) Behave(how Behaviour) {
	p.mu.Lock()
	p.all = how
	clear(p.one)
	p.mu.Unlock()
	for _, key := range p.store.ListKeys() {
		p.queue.Add(key)
	}
}

// BehaveTo changes how one Service ("namespace/name") is treated.
func (p *Provider) BehaveTo(key string, how Behaviour) {
	p.mu.Lock()
	p.one[key] = how
	p.mu.Unlock()
	p.queue.Add(key)
}

// Ensures is how often a Service's load balancer was programmed: once, and again at each change of its spec or
// annotations.
func (p *Provider) Ensures(key string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ensures[key]
}

// learn takes addresses that are in use out of the pool, before any is given away.
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

// ours are load balancers that are left to the cluster's default provider.
func ours(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.Spec.LoadBalancerClass == nil
}
