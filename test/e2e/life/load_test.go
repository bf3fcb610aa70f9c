package life

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

const (
	slots     = 20 // number of channels that are created, changed and deleted
	perSecond = 50
)

// load creates, changes and deletes channels. Each slot has one channel, and sends a request when its request before
// has ended.
type load struct {
	stop context.CancelFunc
	done sync.WaitGroup
	last []string // the last request of each slot
	mux  []string // the mux's ports before the load

	mu       sync.Mutex
	went     int
	failures []string
}

func (w *world) underLoad(t *testing.T) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	l := &load{stop: cancel, last: make([]string, slots), mux: w.muxPorts(t)}
	for slot := range slots {
		l.done.Go(func() { l.play(ctx, w, slot) })
	}
	return l
}

// play takes steps until the end of the load, and ends before a deletion, so that the slot's channel exists.
func (l *load) play(ctx context.Context, w *world, slot int) {
	tick := time.NewTicker(slots * time.Second / perSecond)
	defer tick.Stop()
	lasting := context.WithoutCancel(ctx)
	for turn := 0; ctx.Err() == nil || turn%4 != 3; turn++ {
		<-tick.C
		l.note(l.step(lasting, w, slot, turn%4))
	}
}

// step takes the next step of a channel: creation with a number of its own, a change to auto, a change back, deletion.
func (l *load) step(ctx context.Context, w *world, slot, turn int) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	services := w.Client.CoreV1().Services(shop)
	name, own := fmt.Sprintf("load-%d", slot), fmt.Sprint(21000+slot)
	switch turn {
	case 0:
		l.last[slot] = own
		_, err := services.Create(ctx, loadChannel(name, own), metav1.CreateOptions{})
		return err
	case 3:
		return services.Delete(ctx, name, metav1.DeleteOptions{})
	}
	l.last[slot] = map[int]string{1: "auto", 2: own}[turn]
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"%s/external-ports":"http:%s"}}}`, prefix, l.last[slot])
	_, err := services.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func loadChannel(name, external string) *corev1.Service {
	class, no := prefix+"/mux", false
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name,
			Annotations: map[string]string{prefix + "/external-ports": "http:" + external},
			Labels:      map[string]string{"load": "true"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class,
			AllocateLoadBalancerNodePorts: &no,
			Selector:                      map[string]string{"app": "web"},
			Ports:                         []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
}

func (l *load) note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.went++
	if err != nil {
		l.failures = append(l.failures, time.Now().Format(time.TimeOnly)+" "+err.Error())
	}
}

// end fails the test for each failed request. It waits until each channel has the ports that it last requested. Then it
// deletes all channels.
func (l *load) end(t *testing.T, w *world, since time.Time) {
	t.Helper()
	l.stop()
	l.done.Wait()
	took := time.Since(since)
	t.Logf("%d changes in %s, %.0f a second, %d failed", l.went, took.Round(time.Second), float64(l.went)/took.Seconds(),
		len(l.failures))
	for _, failure := range l.failures[:min(5, len(l.failures))] {
		t.Error(failure)
	}
	for slot, external := range l.last {
		l.served(t, w, fmt.Sprintf("load-%d", slot), external)
	}
	w.Kubectl(t, "delete", "service", "--namespace="+shop, "--selector=load=true")
	cluster.Eventually(t, "the deleted channels' ports are off the mux", func(context.Context) error {
		return differs(l.mux, w.muxPorts(t))
	})
}

func (w *world) muxPorts(t *testing.T) []string {
	t.Helper()
	return slices.Sorted(slices.Values(portsOf(w.service(t, product.Namespace, "mux"))))
}

func (l *load) served(t *testing.T, w *world, name, external string) {
	t.Helper()
	cluster.Eventually(t, name+" has "+external, func(ctx context.Context) error {
		svc, err := w.Client.CoreV1().Services(shop).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			t.Fatalf("%s is missing, but wasn't deleted", name)
		}
		if err != nil {
			return err
		}
		number, found := strings.CutPrefix(svc.Annotations[prefix+"/ports"], "http:80->")
		if !found || external != "auto" && number != external || external == "auto" && !strings.HasPrefix(number, "200") {
			return fmt.Errorf("the channel has %q, and the conditions %v", svc.Annotations[prefix+"/ports"],
				svc.Status.Conditions)
		}
		return programmed(svc)
	})
}
