package run

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// freeDeadLease releases a lease whose holder's pod is gone. helm uninstall deletes a reconciler's rights before its
// pod ends, so the pod can't release the lease itself, and a drain would wait until the lease expires. If pods can't be
// listed, the drain waits; nothing else depends on this.
//
//	helm uninstall:  roles gone ─▶ pod told to end, can't release its lease ─▶ pod gone ─▶ the lease is free ─▶ drain
func (p Process) freeDeadLease(ctx context.Context, m *processManager) {
	for {
		holder, err := p.freeLease(ctx, m.set)
		if err != nil {
			return
		}
		if holder != "" {
			fmt.Fprintf(p.Logs, "%s held the lease %s/%s, and its pod is gone: it is free\n", holder, p.Options.Namespace,
				p.Options.LeaseName)
		}
		select {
		case <-ctx.Done():
			return
		case <-m.Elected():
			return
		case <-time.After(freeLeasePause):
		}
	}
}

// freeLeasePause is much shorter than a lease's duration, and much longer than a request.
const freeLeasePause = 500 * time.Millisecond

// freeLease frees the lease and returns its former holder. It returns "" if the holder may be alive.
func (p Process) freeLease(ctx context.Context, set kubernetes.Interface) (string, error) {
	leases := set.CoordinationV1().Leases(p.Options.Namespace)
	lease, err := leases.Get(ctx, p.Options.LeaseName, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	host, _, ok := strings.Cut(holder, "_")
	// A holder whose name doesn't start like the Deployment's pods may be a process outside of the cluster.
	if !ok || !strings.HasPrefix(host, p.Options.LeaseName+"-") {
		return "", nil
	}
	pods, err := set.CoreV1().Pods(p.Options.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for i := range pods.Items {
		if strings.HasPrefix(pods.Items[i].Name, host) { // a longer pod name is cut to 63 characters in the host name
			return "", nil
		}
	}
	// The update carries the resourceVersion: if another process takes the lease meanwhile, the update fails.
	lease.Spec.HolderIdentity = nil
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	return holder, err
}
