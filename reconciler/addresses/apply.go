package addresses

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/reconciler/addresses/decide"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool/config"
	"nowake.ai/svc-lb-mux/reconciler/pace"
)

// apply hides addresses, writes the claims, and then shows addresses and conditions. If the claims can't be written,
// nothing is shown.
func (c *Controller) apply(ctx context.Context, seen *observation, p *config.Pool, d *decide.Decision,
	now time.Time) (time.Time, error) {
	var due deadline
	again, hideErr := c.writeAll(ctx, d.Hide, now)
	due.add(again)
	if d.Claims != nil {
		err := c.writeClaims(ctx, seen, p.Name, d.Claims)
		if isStale(err) {
			due.add(now.Add(conflictPause))
			return due.at, hideErr
		}
		if err != nil {
			return due.at, errors.Join(hideErr, err)
		}
	}
	again, showErr := c.writeAll(ctx, d.Show, now)
	due.add(again)
	return due.at, errors.Join(hideErr, showErr)
}

// writeClaims writes a pool's claims, and makes the observation know them.
func (c *Controller) writeClaims(ctx context.Context, seen *observation, pool string, next *claims.Claims) error {
	text, err := claims.Encode(*next)
	if err != nil {
		return err
	}
	before := seen.stored[pool]
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: claims.Name(pool)}}
	if before.object != nil {
		cm = before.object.DeepCopy()
	}
	if cm.Labels == nil {
		cm.Labels = map[string]string{}
	}
	if cm.Data == nil {
		cm.Data = map[string]string{}
	}
	cm.Labels[c.Language.Keys().Pool], cm.Data[claims.Key] = pool, text
	if err := c.api.WriteClaims(ctx, cm); err != nil {
		return fmt.Errorf("pool %s: write the claims: %w", pool, err)
	}
	c.Metrics.wrote("claims")
	seen.stored[pool] = &stored{object: cm, Stored: decide.Stored{Claims: next}}
	return nil
}

// writeAll writes statuses. After a failed write, it still writes the others.
func (c *Controller) writeAll(ctx context.Context, list []decide.Status, now time.Time) (time.Time, error) {
	var mu sync.Mutex
	var due deadline
	var errs []error
	workqueue.ParallelizeUntil(ctx, max(1, c.Writes), len(list), func(i int) {
		again, err := c.write(ctx, &list[i], now)
		mu.Lock()
		defer mu.Unlock()
		due.add(again)
		if err != nil {
			errs = append(errs, err)
		}
	})
	if len(errs) > mostErrors { // an API server that is away fails every write
		errs = append(errs[:mostErrors], fmt.Errorf("and %d more", len(errs)-mostErrors))
	}
	return due.at, errors.Join(append(errs, ctx.Err())...)
}

const mostErrors = 3

// conflictPause is how long the controller waits after a write conflict, so that the cache can show the other change.
const conflictPause = 100 * time.Millisecond

// isStale is true if a write failed because the object had changed since it was read. The next pass decides again.
func isStale(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// write writes one status. It returns when to try again, if the write conflicts, or must wait because another writer
// keeps undoing it.
func (c *Controller) write(ctx context.Context, s *decide.Status, now time.Time) (time.Time, error) {
	change := changeOf(c.Language.Keys(), s, now)
	if s.SetsAddresses {
		turn := c.pace.Ask(s.Mux.Key, pace.Content(change.content()), now)
		if turn.Wait > 0 {
			return now.Add(turn.Wait), nil
		}
	}
	if err := c.api.WriteStatus(ctx, change); err != nil {
		if s.SetsAddresses {
			c.pace.Failed(s.Mux.Key)
		}
		if isStale(err) {
			return now.Add(conflictPause), nil
		}
		return time.Time{}, fmt.Errorf("mux %s: write the status: %w", s.Mux.Key, err)
	}
	c.Metrics.wrote("status")
	for _, event := range s.Events {
		c.api.Tell(s.Mux.Service, event)
	}
	return time.Time{}, nil
}
