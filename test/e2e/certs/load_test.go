package certs

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/test/long"
)

// load applies channels until it is stopped: 10 times a second, or 50 times in `make long`. Each apply causes one
// review, and so one handshake.
type load struct {
	stop func() // returns when no apply is under way
	done sync.WaitGroup

	mu       sync.Mutex
	went     int
	failures []string
}

const (
	channels = 20
	// atOnce limits concurrent applies, so that a busy machine isn't overloaded.
	atOnce = 25
)

func (r *release) underLoad(t *testing.T) *load {
	t.Helper()
	// Only one release is under load at a time: the modes share the machine, and each must get the whole load.
	r.w.load.Lock()
	free := sync.OnceFunc(r.w.load.Unlock)
	t.Cleanup(free)
	for i := range channels {
		if _, err := r.w.Client.CoreV1().Services(team).
			Create(t.Context(), r.channel(i), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	ctx, cancel := detached(t)
	l := &load{}
	l.stop = func() { cancel(); l.done.Wait(); free() }
	pause := 100 * time.Millisecond
	if long.Runs() {
		pause = 20 * time.Millisecond
	}
	tick, room := time.NewTicker(pause), make(chan struct{}, atOnce)
	l.done.Go(func() {
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				room <- struct{}{}
				l.done.Go(func() { l.note(r.apply(context.WithoutCancel(ctx), i)); <-room })
			}
		}
	})
	t.Cleanup(l.stop)
	return l
}

func (l *load) note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.went++
	if err != nil {
		l.failures = append(l.failures, time.Now().Format(time.TimeOnly)+" "+err.Error())
	}
}

// end fails the test for each failed apply.
func (l *load) end(t *testing.T, since time.Time) {
	t.Helper()
	l.stop()
	for _, failure := range l.failures[:min(5, len(l.failures))] {
		t.Error(failure)
	}
	took := time.Since(since)
	t.Logf("%d applies in %s, %.0f a second, %d failed", l.went, took.Round(time.Second), float64(l.went)/took.Seconds(),
		len(l.failures))
	if len(l.failures) > 0 {
		t.Errorf("%d of %d applies failed", len(l.failures), l.went)
	}
}

func (r *release) channel(i int) *corev1.Service {
	class, no := r.prefix+"/mux", false
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", r.name, i), Namespace: team},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class,
			AllocateLoadBalancerNodePorts: &no,
			Ports:                         []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
}

func (r *release) apply(ctx context.Context, i int) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	patch := fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{"annotations":{"example.com/turn":"%d"}}}`, i)
	_, err := r.w.Client.CoreV1().Services(team).Patch(ctx, fmt.Sprintf("%s-%d", r.name, i%channels), types.ApplyPatchType,
		[]byte(patch),
		metav1.PatchOptions{FieldManager: "load"})
	return err
}

// refuses returns nil once the webhook denies a bad channel.
func (r *release) refuses(ctx context.Context) error {
	svc := r.channel(0)
	svc.Name = "refused"
	svc.Annotations = map[string]string{r.prefix + "/external-ports": "http:nonsense"}
	_, err := r.w.Client.CoreV1().Services(team).Create(ctx, svc, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err == nil {
		return fmt.Errorf("a bad channel is allowed")
	}
	if !containsAll(err.Error(), "nonsense", "external-ports") {
		return fmt.Errorf("a bad channel is refused for another reason: %w", err)
	}
	return nil
}
