package ledger

import (
	"context"
	"net/http"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
)

// requests counts the requests about ConfigMaps.
type requests struct {
	mu   sync.Mutex
	sent []string
}

type counting struct {
	next  http.RoundTripper
	count *requests
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "/configmaps") {
		c.count.mu.Lock()
		c.count.sent = append(c.count.sent, r.Method)
		c.count.mu.Unlock()
	}
	return c.next.RoundTrip(r)
}

// since returns the requests since its last call.
func (r *requests) since() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := strings.Join(r.sent, " ")
	r.sent = nil
	return sent
}

// lagging is a cache of ledgers. It sees labelled ConfigMaps without their data, and no changes since its last catchUp.
type lagging struct {
	source    client.Client
	namespace string
	seen      metav1.PartialObjectMetadataList
}

func (l *lagging) catchUp(ctx context.Context) error {
	l.seen.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	return l.source.List(ctx, &l.seen, client.InNamespace(l.namespace),
		client.MatchingLabelsSelector{Selector: record.Selector()})
}

func (l *lagging) Get(_ context.Context, key client.ObjectKey, to client.Object, _ ...client.GetOption) error {
	for i := range l.seen.Items {
		if client.ObjectKeyFromObject(&l.seen.Items[i]) == key {
			l.seen.Items[i].DeepCopyInto(to.(*metav1.PartialObjectMetadata))
			return nil
		}
	}
	return apierrors.NewNotFound(corev1.Resource("configmaps"), key.Name)
}

func (l *lagging) List(_ context.Context, to client.ObjectList, _ ...client.ListOption) error {
	l.seen.DeepCopyInto(to.(*metav1.PartialObjectMetadataList))
	return nil
}
