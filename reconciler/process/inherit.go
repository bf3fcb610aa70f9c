package process

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// inherit lets go of a lease in the name of a pod that is gone. Whoever uninstalls takes a reconciler's rights away before it
// has ended, so it can't let go itself, and a goodbye would wait until the lease runs out. Where pods can't be listed, it
// does; nothing else depends on this.
//
//	helm uninstall:  roles gone ─▶ pod told to end, holds on to its lease ─▶ pod gone ─▶ the lease is nobody's ─▶ drain
func (p Process) inherit(ctx context.Context, m manager.Manager) {
	set, err := kubernetes.NewForConfig(p.Config)
	if err != nil {
		return
	}
	for {
		holder, err := p.freeLease(ctx, set)
		if err != nil {
			return
		}
		if holder != "" {
			fmt.Fprintf(p.Logs, "%s held the lease %s/%s, and its pod is gone: it is free\n", holder, p.Options.Namespace, p.Options.LeaseName)
		}
		select {
		case <-ctx.Done():
			return
		case <-m.Elected():
			return
		case <-time.After(inheritPause):
		}
	}
}

// inheritPause is short beside a lease, and long beside a request.
const inheritPause = 500 * time.Millisecond

// freeLease returns from whom the lease was taken; nobody if its holder may be alive.
func (p Process) freeLease(ctx context.Context, set kubernetes.Interface) (string, error) {
	leases := set.CoordinationV1().Leases(p.Options.Namespace)
	lease, err := leases.Get(ctx, p.Options.LeaseName, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	host, _, ok := strings.Cut(holder, "_")
	// Whoever isn't called as the Deployment's pods are may be a process outside of the cluster.
	if !ok || !strings.HasPrefix(host, p.Options.LeaseName+"-") {
		return "", nil
	}
	pods, err := set.CoreV1().Pods(p.Options.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for i := range pods.Items {
		if strings.HasPrefix(pods.Items[i].Name, host) { // a host's name ends where it would be longer than 63 letters
			return "", nil
		}
	}
	// The version that was read goes along: whoever took the lease meanwhile keeps it.
	lease.Spec.HolderIdentity = nil
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	return holder, err
}
