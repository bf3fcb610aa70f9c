package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"nowake.ai/svc-lb-mux/gateway/claims"
	"nowake.ai/svc-lb-mux/gateway/lease"
	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
	"nowake.ai/svc-lb-mux/validation"
)

// Watched is what a KubeSource watches.
type Watched struct {
	Keys validation.Keys
	// Namespace has the pool's claims.
	Namespace string
	Pool      string
	// MuxNamespaces are the namespaces of muxes; all if it is empty.
	MuxNamespaces []string
}

// KubeSource has news from an API server. While the API server is away, the last news stays.
type KubeSource struct {
	Watched
	log            *zap.SugaredLogger
	changed        chan struct{}
	muxes, slices  []cache.SharedIndexInformer
	claimsInformer cache.SharedIndexInformer

	mu   sync.Mutex
	last News   // with the last claims that could be read
	said string // the last error of a watch
	// saidAt is when a watch failed last.
	saidAt time.Time
}

// longestPause is longer than any pause after which a failed watch asks again.
const longestPause = 3 * time.Minute

// NewKubeSource returns a source. Run starts its watches, which ask for no more objects than the agent needs.
func NewKubeSource(client kubernetes.Interface, w Watched, log *zap.SugaredLogger) (*KubeSource, error) {
	k := &KubeSource{Watched: w, log: log, changed: make(chan struct{}, 1)}
	namespaces := w.MuxNamespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	core, discovery := client.CoreV1().RESTClient(), client.DiscoveryV1().RESTClient()
	for _, namespace := range namespaces {
		k.muxes = append(k.muxes, informer(core, "services", namespace, &corev1.Service{}, func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("spec.type", string(corev1.ServiceTypeLoadBalancer)).String()
		}))
		k.slices = append(k.slices, informer(discovery, "endpointslices", namespace, &discoveryv1.EndpointSlice{}, func(o *metav1.ListOptions) {
			o.LabelSelector = labels.Set{discoveryv1.LabelManagedBy: muxslices.ManagedBy(w.Keys)}.String()
		}))
	}
	k.claimsInformer = informer(core, "configmaps", w.Namespace, &corev1.ConfigMap{}, func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, claims.Name(w.Pool)).String()
	})
	for _, i := range k.informers() {
		if err := k.prepare(i); err != nil {
			return nil, fmt.Errorf("prepare a watch: %w", err)
		}
	}
	return k, nil
}

func informer(client rest.Interface, resource, namespace string, kind runtime.Object, narrow func(*metav1.ListOptions)) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(cache.NewFilteredListWatchFromClient(client, resource, namespace, narrow), kind, 0, cache.Indexers{})
}

func (k *KubeSource) informers() []cache.SharedIndexInformer {
	return append(slices.Concat(k.muxes, k.slices), k.claimsInformer)
}

func (k *KubeSource) prepare(i cache.SharedIndexInformer) error {
	if err := i.SetTransform(trim); err != nil {
		return err
	}
	if err := i.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { k.fault(err, time.Now()) }); err != nil {
		return err
	}
	tell := func(any) { wake(k.changed) }
	_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(any, any) { tell(nil) }, DeleteFunc: tell})
	return err
}

// trim drops the managed fields, which the agent doesn't read.
func trim(object any) (any, error) {
	if o, ok := object.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return object, nil
}

// fault logs an error once in an outage. A failed watch asks again soon: so the same error after longestPause belongs to another outage.
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
	for _, i := range k.informers() {
		all.Go(func() { i.RunWithContext(ctx) })
		all.Go(func() { // an empty list is news too, and no event tells of it
			if cache.WaitForCacheSync(ctx.Done(), i.HasSynced) {
				wake(k.changed)
			}
		})
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
	n.Muxes.Items, n.Muxes.IsRead = listed[*corev1.Service](k.muxes)
	n.Slices.Items, n.Slices.IsRead = listed[*discoveryv1.EndpointSlice](k.slices)
	if n.ClaimsFault = ""; k.claimsInformer.HasSynced() {
		k.readClaims(&n)
	}
	k.last = n
	return n
}

func (k *KubeSource) readClaims(n *News) {
	list := k.claimsInformer.GetStore().List()
	if len(list) == 0 {
		n.ClaimsFault = fmt.Sprintf("ConfigMap %s/%s isn't there: the controller makes it; until then, everything stays as it was", k.Namespace,
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
	pools, poolsErr := claims.DecodePools(cm)
	if err = cmp.Or(err, poolsErr); err != nil {
		n.ClaimsFault = err.Error()
		return
	}
	n.Claims, n.ClaimsVersion, n.Pools = &c, version, pools
}

// listed returns the objects of all namespaces, sorted. It returns true once every namespace was read.
func listed[T metav1.Object](informers []cache.SharedIndexInformer) ([]T, bool) {
	var all []T
	isRead := true
	for _, i := range informers {
		isRead = isRead && i.HasSynced()
		for _, object := range i.GetStore().List() {
			if typed, ok := object.(T); ok {
				all = append(all, typed)
			}
		}
	}
	slices.SortFunc(all, func(a, b T) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	return all, isRead
}
