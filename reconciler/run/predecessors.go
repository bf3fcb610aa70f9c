package run

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// predecessors are pods of the same Deployment without the label of this version's pods: those of the Python original,
// and those of older versions. The original doesn't use the lease, so no process leads while one of these pods runs.
//
//   - A process starts to work only after a list without predecessors.
//   - A process stops working when a list has one, for example after a rollback to the original.
//   - A failed list changes nothing. Without the right to list pods, the process isn't ready, so a rollout stops before
//     it ends the working pods.
type predecessors struct {
	client    kubernetes.Interface
	namespace string
	selector  string // if empty, there are no predecessors
	log       logr.Logger

	waiting atomic.Bool // true while a predecessor keeps this process from leading
	asked   atomic.Bool
	refused atomic.Pointer[error]
}

// predecessorPause is the time between two lists. A pod is listed from its creation on, before its image has started.
const predecessorPause = 2 * time.Second

// runningPods excludes pods whose containers have all ended.
const runningPods = "status.phase!=Succeeded,status.phase!=Failed"

// look returns the name of a running predecessor, or "".
func (p *predecessors) look(ctx context.Context) (string, error) {
	if p.selector == "" {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, predecessorPause)
	defer cancel()
	pods, err := p.client.CoreV1().Pods(p.namespace).List(ctx, metav1.ListOptions{
		LabelSelector: p.selector, FieldSelector: runningPods, Limit: 1,
	})
	switch {
	case err == nil:
		p.asked.Store(true)
		p.refused.Store(nil)
	case apierrors.IsForbidden(err):
		p.refused.Store(&err)
	}
	if err != nil || len(pods.Items) == 0 {
		return "", err
	}
	return pods.Items[0].Name, nil
}

// awaitNone waits until no predecessor runs. It returns false if the context ended first.
func (p *predecessors) awaitNone(ctx context.Context) bool {
	logged := ""
	defer p.waiting.Store(false)
	for ctx.Err() == nil {
		pod, err := p.look(ctx)
		if pod == "" && err == nil {
			return true
		}
		p.waiting.Store(pod != "")
		if why := fmt.Sprint(pod, err); why != logged && ctx.Err() == nil {
			logged = why
			p.log.Info("waits to lead: a pod of this release that isn't a reconciler of this version must end first",
				"namespace", p.namespace, "pod", pod, "listError", fmt.Sprint(err))
		}
		pause(ctx)
	}
	return false
}

// whileNone calls stop when a predecessor runs. It ends with the context.
func (p *predecessors) whileNone(ctx context.Context, stop func()) {
	if p.selector == "" {
		return
	}
	go func() {
		for pause(ctx); ctx.Err() == nil; pause(ctx) {
			if pod, _ := p.look(ctx); pod != "" {
				p.log.Info("stops leading: a pod of this release that isn't a reconciler of this version runs",
					"namespace", p.namespace, "pod", pod)
				stop()
			}
		}
	}()
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(predecessorPause):
	}
}

// ready returns why this process couldn't lead even if no other process ran; nil if it could.
func (p *predecessors) ready() error {
	if refused := p.refused.Load(); refused != nil {
		return fmt.Errorf("this process can't see whether an older reconciler still runs, so it doesn't lead: grant list "+
			"of pods in namespace %s to its ServiceAccount: %w", p.namespace, *refused)
	}
	if p.selector != "" && !p.asked.Load() {
		return errors.New("this process doesn't know yet whether an older reconciler still runs: is the API server up?")
	}
	return nil
}
