package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/cache"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/diff"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// engine holds Argo CD's state for one cluster.
type engine struct {
	settings
	config     *rest.Config
	kubectl    *kube.KubectlCmd
	cache      cache.ClusterCache
	dryRuns    diff.KubeApplier
	normalizer *normalizer
	stop       func()
}

func start(s settings) (*engine, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // no client-side limit: the API server's priority and fairness suffices
	e := &engine{settings: s, config: config, kubectl: &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}}
	if e.normalizer, err = newNormalizer(s.ignore); err != nil {
		return nil, err
	}
	if e.dryRuns, e.stop, err = e.kubectl.ManageServerSideDiffDryRuns(config); err != nil {
		return nil, err
	}
	e.cache = cache.NewClusterCache(config, cache.SetKubectl(e.kubectl), cache.SetLogr(logr.Discard()),
		cache.SetPopulateResourceInfoHandler(populate))
	if err := e.cache.EnsureSynced(); err != nil {
		e.stop()
		return nil, fmt.Errorf("fill the cache: %w", err)
	}
	return e, nil
}

// reconcile compares, and syncs if anything differs.
func (e *engine) reconcile(ctx context.Context, targets []*unstructured.Unstructured) Round {
	round := Round{Drift: []string{}, Applied: []string{}}
	if err := e.catchUp(ctx, targets); err != nil {
		round.Error = err.Error()
		return round
	}
	c, err := e.compare(targets)
	if err != nil {
		round.Error = err.Error()
		return round
	}
	round.Drift, round.Health = c.drift(), c.health()
	if len(round.Drift) == 0 && !e.always {
		return round
	}
	results, err := e.sync(ctx, c)
	for _, result := range results {
		round.Applied = append(round.Applied,
			fmt.Sprintf("%s %s: %s", result.ResourceKey.Name, result.Status, result.Message))
	}
	if err != nil {
		round.Error = err.Error()
	}
	return round
}

// sync runs a sync to its end. The engine itself orders objects, and makes a client-side dry run first.
func (e *engine) sync(ctx context.Context, c comparison) ([]common.ResourceSyncResult, error) {
	s, cleanup, err := sync.NewSyncContext("1", c.ReconciliationResult, e.config, e.config, e.kubectl, "default",
		sync.WithLogr(logr.Discard()),
		sync.WithOperationSettings(false, true, false, false),
		sync.WithManifestValidation(true),
		sync.WithServerSideApply(e.serverSideApply),
		sync.WithServerSideApplyManager(fieldManager),
	)
	if err != nil {
		return nil, err
	}
	defer cleanup()
	for {
		s.Sync()
		phase, message, results := s.GetState()
		if phase.Completed() {
			if !phase.Successful() {
				err = fmt.Errorf("%s: %s", phase, message)
			}
			return results, err
		}
		if err := pause(ctx); err != nil {
			return results, err
		}
	}
}

// catchUp waits until the cache shows the current objects. Argo CD compares again after each change, but this command
// compares only once: a stale cache would look like drift.
func (e *engine) catchUp(ctx context.Context, targets []*unstructured.Unstructured) error {
	for _, target := range targets {
		for {
			now, err := e.kubectl.GetResource(ctx, e.config, target.GroupVersionKind(), target.GetName(), target.GetNamespace())
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
			known, err := e.cache.GetManagedLiveObjs([]*unstructured.Unstructured{target}, func(*cache.Resource) bool {
				return false
			})
			if err != nil {
				return err
			}
			if version(known[kube.GetResourceKey(target)]) == version(now) {
				break
			}
			if err := pause(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func version(object *unstructured.Unstructured) string {
	if object == nil {
		return ""
	}
	return object.GetResourceVersion()
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(20 * time.Millisecond):
		return nil
	}
}
