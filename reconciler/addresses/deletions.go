package addresses

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// deletions remember for a while which deletions of Services a watch told.
type deletions struct {
	mu   sync.Mutex
	told map[types.NamespacedName]deletion
}

type deletion struct {
	uid types.UID
	at  time.Time
}

// remembered is how long a deletion is remembered. After that, the mux only counts as missing.
const remembered = time.Hour

func newDeletions() *deletions { return &deletions{told: map[types.NamespacedName]deletion{}} }

// Deleted records that a watch told the deletion of a Service.
func (c *Controller) Deleted(svc client.Object) {
	c.deleted.mu.Lock()
	defer c.deleted.mu.Unlock()
	c.deleted.told[client.ObjectKeyFromObject(svc)] = deletion{svc.GetUID(), c.Now()}
}

// recent returns the remembered deletions.
func (d *deletions) recent(now time.Time) map[types.NamespacedName]types.UID {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.told, func(_ types.NamespacedName, one deletion) bool { return now.Sub(one.at) > remembered })
	recent := make(map[types.NamespacedName]types.UID, len(d.told))
	for key, one := range d.told {
		recent[key] = one.uid
	}
	return recent
}
