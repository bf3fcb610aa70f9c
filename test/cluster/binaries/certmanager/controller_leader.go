package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	shared "github.com/cert-manager/cert-manager/pkg/apis/config/shared/v1alpha1"
	"github.com/cert-manager/cert-manager/pkg/controller"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leaseName is the lease that the chart's Role allows to update.
const leaseName = "cert-manager-controller"

// lead runs the work while it holds the lease. It returns when it loses the lease, or when ctx ends.
func lead(
	ctx context.Context, c shared.LeaderElectionConfig, base *controller.Context,
	watchdog *leaderelection.HealthzAdaptor, work func() error,
) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: leaseName,
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: leaseName},
			Client:    base.Client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{
				// The identity is unique per process: otherwise two processes on one host would both believe that they
				// lead.
				Identity:      host + "_" + string(uuid.NewUUID()),
				EventRecorder: base.Recorder,
			},
		},
		LeaseDuration: c.LeaseDuration.Duration.Duration,
		RenewDeadline: c.RenewDeadline.Duration.Duration,
		RetryPeriod:   c.RetryPeriod.Duration.Duration,
		WatchDog:      watchdog,
		// Release the lease early, although a loop may still finish an object while the next leader starts. That is
		// harmless with one replica, and the next start needn't wait until the lease expires.
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				if err := work(); err != nil {
					cancel(err)
				}
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	watchdog.SetLeaderElection(elector)
	elector.Run(ctx)
	if ctx.Err() == nil {
		return errors.New("leader election: lost the lease")
	}
	return context.Cause(ctx)
}
