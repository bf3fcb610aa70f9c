package main

import (
	"encoding/json"
	"fmt"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/diff"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fieldManager is the field manager that Argo CD uses for server-side apply and for server-side diff.
const fieldManager = "argocd-controller"

// comparison is the result of comparing manifests with live objects.
type comparison struct {
	sync.ReconciliationResult
	diffs *diff.DiffResultList
}

// options returns Argo CD's options for a comparison. The default compares with the last applied configuration.
func (e *engine) options() []diff.Option {
	return []diff.Option{
		diff.WithNormalizer(e.normalizer),
		diff.WithGVKParser(e.cache.GetGVKParser()),
		diff.WithManager(fieldManager),
		diff.WithStructuredMergeDiff(e.serverSideApply),
		diff.WithServerSideDiff(e.serverSideDiff),
		diff.WithServerSideDryRunner(diff.NewK8sServerSideDryRunner(e.dryRuns)),
	}
}

func (e *engine) compare(targets []*unstructured.Unstructured) (comparison, error) {
	live, err := e.cache.GetManagedLiveObjs(targets, managed)
	if err != nil {
		return comparison{}, err
	}
	c := comparison{ReconciliationResult: sync.Reconcile(targets, live, "default", e.cache)}
	c.diffs, err = diff.DiffArray(c.Target, c.Live, e.options()...)
	return c, err
}

// drift lists the objects that are out of sync, missing or to be pruned, with their differences.
func (c comparison) drift() []string {
	list := []string{}
	for i, result := range c.diffs.Diffs {
		switch {
		case c.Target[i] == nil:
			list = append(list, name(c.Live[i])+": to be pruned")
		case c.Live[i] == nil:
			list = append(list, name(c.Target[i])+": missing")
		case result.Modified:
			list = append(list, name(c.Target[i])+": out of sync\n"+cmp.Diff(parsed(result.NormalizedLive),
				parsed(result.PredictedLive)))
		}
	}
	return list
}

func (c comparison) health() map[string]string {
	all := map[string]string{}
	for i, object := range c.Live {
		if object == nil {
			all[name(c.Target[i])] = string(health.HealthStatusMissing)
			continue
		}
		status, err := health.GetResourceHealth(object, nil)
		switch {
		case err != nil:
			all[name(object)] = err.Error()
		case status != nil:
			all[name(object)] = string(status.Status)
		}
	}
	return all
}

func name(object *unstructured.Unstructured) string {
	return fmt.Sprintf("%s/%s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
}

func parsed(data []byte) (value any) {
	if err := json.Unmarshal(data, &value); err != nil {
		return string(data)
	}
	return value
}
