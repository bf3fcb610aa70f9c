package balancer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/validation"
)

// Watched is what a KubeSource watches.
type Watched struct {
	Language validation.Language
	// Namespace has the pool's claims.
	Namespace string
	Pool      string
	// MuxNamespaces are the namespaces of muxes; all if it is empty.
	MuxNamespaces []string
}

// KubeSource has news from an API server. While the API server is away, the last news stays.
//
// It keeps the muxes of all pools, and the slices that a mux of its own pool owns. Of other objects it keeps the name,
// and their changes cause no pass: everybody who may write Services or EndpointSlices in a namespace of muxes can write
// thousands.
type KubeSource struct {
	Watched
	log            *zap.SugaredLogger
	client         kubernetes.Interface
	changed        chan struct{}
	muxInformers   []cache.SharedIndexInformer
	muxesHandled   []func() bool // true once the first list was recorded
	claimsInformer cache.SharedIndexInformer
	slices         []*sliceWatch // one for each namespace

	mu    sync.Mutex
	muxes map[types.NamespacedName]*corev1.Service
	last  News   // with the last claims that could be read
	said  string // the last error of a watch
	// saidAt is when a watch failed last.
	saidAt time.Time
	// muxesChanged and slicesChanged are true if the lists in last are old.
	muxesChanged, slicesChanged bool
}

// longestPause is longer than any pause after which a failed watch asks again.
const longestPause = 3 * time.Minute

// NewKubeSource returns a source. Run starts its watches, which ask for no more objects than the agent needs.
func NewKubeSource(client kubernetes.Interface, w Watched, log *zap.SugaredLogger) (*KubeSource, error) {
	k := &KubeSource{Watched: w, log: log, client: client, changed: make(chan struct{}, 1),
		muxes: map[types.NamespacedName]*corev1.Service{}}
	namespaces := w.MuxNamespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	core := client.CoreV1().RESTClient()
	for _, namespace := range namespaces {
		muxes := informer(core, "services", namespace, &corev1.Service{}, func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("spec.type", string(corev1.ServiceTypeLoadBalancer)).String()
		})
		k.muxInformers = append(k.muxInformers, muxes)
		handled, err := k.prepare(muxes, k.trimMux, k.onMux)
		if err != nil {
			return nil, err
		}
		k.muxesHandled = append(k.muxesHandled, handled)
		k.slices = append(k.slices, &sliceWatch{source: k, namespace: namespace, again: make(chan struct{}, 1)})
	}
	k.claimsInformer = informer(core, "configmaps", w.Namespace, &corev1.ConfigMap{}, func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, claims.Name(w.Pool)).String()
	})
	_, err := k.prepare(k.claimsInformer, trim, func(_, _ metav1.Object) bool { return true })
	return k, err
}

func informer(client rest.Interface, resource, namespace string, kind runtime.Object,
	narrow func(*metav1.ListOptions)) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(cache.NewFilteredListWatchFromClient(client, resource, namespace, narrow), kind, 0,
		cache.Indexers{})
}

// prepare gives an informer its functions: what to keep of an object, and what to do when an object changes. change
// gets nil for an object that isn't there, and returns true if the news changed. The returned function is true once
// change has seen the first list.
func (k *KubeSource) prepare(i cache.SharedIndexInformer, keep cache.TransformFunc,
	change func(old, now metav1.Object) bool) (func() bool, error) {
	onError := func(_ context.Context, _ *cache.Reflector, err error) { k.fault(err, time.Now()) }
	if err := errors.Join(i.SetTransform(keep), i.SetWatchErrorHandlerWithContext(onError)); err != nil {
		return nil, fmt.Errorf("prepare a watch: %w", err)
	}
	tell := func(old, now any) {
		if change(objectOf(old), objectOf(now)) {
			wake(k.changed)
		}
	}
	handled, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(now any) { tell(nil, now) },
		UpdateFunc: tell,
		DeleteFunc: func(old any) { tell(old, nil) }})
	if err != nil {
		return nil, fmt.Errorf("prepare a watch: %w", err)
	}
	return handled.HasSynced, nil
}

// objectOf returns the object of an event; nil if there is none.
func objectOf(from any) metav1.Object {
	if gone, is := from.(cache.DeletedFinalStateUnknown); is {
		from = gone.Obj
	}
	object, _ := from.(metav1.Object)
	return object
}

// trim drops the managed fields, which the agent doesn't read.
func trim(object any) (any, error) {
	if o, ok := object.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return object, nil
}

// nameOf returns an object without anything but its name and version.
func nameOf(o metav1.Object) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(),
		UID:             o.GetUID(),
		ResourceVersion: o.GetResourceVersion()}}
}

// trimMux keeps what is used of a mux of this pool, the addresses of a mux of another pool, and the name of other
// Services.
func (k *KubeSource) trimMux(object any) (any, error) {
	svc, is := object.(*corev1.Service)
	if !is {
		return object, nil
	}
	if k.poolOf(svc) == "" {
		return nameOf(svc), nil
	}
	kept := &corev1.Service{ObjectMeta: nameOf(svc).ObjectMeta}
	kept.Spec.LoadBalancerClass = svc.Spec.LoadBalancerClass
	if k.poolOf(svc) == k.Pool {
		if ranges, has := svc.Annotations[k.Language.Keys().Ranges]; has {
			kept.Annotations = map[string]string{k.Language.Keys().Ranges: ranges}
		}
		for _, p := range svc.Spec.Ports {
			kept.Spec.Ports = append(kept.Spec.Ports, corev1.ServicePort{Name: p.Name, Protocol: p.Protocol, Port: p.Port})
		}
	}
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		kept.Status.LoadBalancer.Ingress = append(kept.Status.LoadBalancer.Ingress,
			corev1.LoadBalancerIngress{IP: ingress.IP})
	}
	return kept, nil
}

// poolOf returns the pool of a mux; "" for a Service on no pool.
func (k *KubeSource) poolOf(svc *corev1.Service) string {
	pool, _ := k.Language.GatewayPool(ptr.Deref(svc.Spec.LoadBalancerClass, ""))
	return pool
}

// onMux records a mux. It returns false for a Service that isn't a mux on a pool, and wasn't one.
func (k *KubeSource) onMux(old, now metav1.Object) bool {
	_, was := old.(*corev1.Service)
	mux, is := now.(*corev1.Service)
	k.mu.Lock()
	defer k.mu.Unlock()
	if is {
		k.muxes[keyOf(mux)] = mux
		for _, w := range k.slices {
			w.adopt(mux)
		}
	} else if old != nil {
		delete(k.muxes, keyOf(old))
	}
	k.muxesChanged = k.muxesChanged || was || is
	return was || is
}

func keyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// fault logs an error once in an outage. A failed watch asks again soon: so the same error after longestPause belongs
// to another outage.
func (k *KubeSource) fault(err error, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	text := err.Error()
	isNew := text != k.said || now.Sub(k.saidAt) > longestPause
	k.said, k.saidAt = text, now
	if isNew {
		k.log.Warnw("The API server doesn't answer: everything stays as it was", "error", text)
	}
}

// Run watches until the context ends.
func (k *KubeSource) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, i := range append(slices.Clone(k.muxInformers), k.claimsInformer) {
		all.Go(func() { i.RunWithContext(ctx) })
	}
	for _, isRead := range []func() bool{k.knowsMuxes, k.claimsInformer.HasSynced} {
		all.Go(func() { // an empty list is news too, and no event tells of it
			if cache.WaitForCacheSync(ctx.Done(), isRead) {
				wake(k.changed)
			}
		})
	}
	for _, w := range k.slices {
		all.Go(func() { w.run(ctx) })
	}
	all.Wait()
}

// Changed is readable after the news changed.
func (k *KubeSource) Changed() <-chan struct{} { return k.changed }

// Latest returns the news.
func (k *KubeSource) Latest() News {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.last
	n.Muxes.IsRead = k.knowsMuxes()
	if k.muxesChanged {
		n.Muxes.Items = sorted(maps.Values(k.muxes))
	}
	n.Slices.IsRead = !slices.ContainsFunc(k.slices, func(w *sliceWatch) bool { return !w.isRead })
	if k.slicesChanged {
		n.Slices.Items = nil
		for _, w := range k.slices {
			if w.list != nil {
				n.Slices.Items = append(n.Slices.Items, sorted(maps.Values(w.list.kept))...)
			}
		}
	}
	k.muxesChanged, k.slicesChanged = false, false
	if n.ClaimsFault = ""; k.claimsInformer.HasSynced() {
		k.readClaims(&n)
	}
	k.last = n
	return n
}

// knowsMuxes is true once the muxes of every namespace were read.
func (k *KubeSource) knowsMuxes() bool {
	return !slices.ContainsFunc(k.muxesHandled, func(handled func() bool) bool { return !handled() })
}

func sorted[T metav1.Object](all iter.Seq[T]) []T {
	return slices.SortedFunc(all, func(a, b T) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
}

func (k *KubeSource) readClaims(n *News) {
	list := k.claimsInformer.GetStore().List()
	if len(list) == 0 {
		n.ClaimsFault = fmt.Sprintf("ConfigMap %s/%s isn't there: the controller makes it; until then, everything stays as "+
			"it was", k.Namespace,
			claims.Name(k.Pool))
		return
	}
	cm, ok := list[0].(*corev1.ConfigMap)
	version := lease.Version{}
	if ok {
		version = lease.Version{UID: cm.UID, ResourceVersion: cm.ResourceVersion}
	}
	if !ok || n.Claims != nil && version == n.ClaimsVersion {
		return
	}
	c, err := claims.Decode(cm, k.Pool)
	if err != nil {
		n.ClaimsFault = err.Error()
		return
	}
	n.Claims, n.ClaimsVersion = &c, version
}
