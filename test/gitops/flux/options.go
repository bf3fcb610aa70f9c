package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/jsondiff"
	"github.com/fluxcd/pkg/ssa/normalize"
	"github.com/fluxcd/pkg/ssa/utils"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// The controller's field manager, and the prefix of its labels and annotations.
const (
	controller = "kustomize-controller"
	group      = "kustomize.toolkit.fluxcd.io"
)

type ignored = []jsondiff.IgnoreRule

// ignoreRules parses spec.ignore of a Kustomization: paths, and the objects to which they apply.
func ignoreRules(text string) (ignored, error) {
	var list []struct {
		Paths  []string           `json:"paths"`
		Target *jsondiff.Selector `json:"target"`
	}
	if err := yaml.UnmarshalStrict([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("-ignore: %w", err)
	}
	var rules ignored
	for _, rule := range list {
		rules = append(rules, jsondiff.IgnoreRule{Paths: rule.Paths, Selector: rule.Target})
	}
	return rules, nil
}

// read parses manifests, and adds the labels that mark the controller's objects.
func read(manager *ssa.ResourceManager, manifests []byte) ([]*unstructured.Unstructured, error) {
	objects, err := utils.ReadObjects(bytes.NewReader(manifests))
	if err != nil {
		return nil, err
	}
	manager.SetOwnerLabels(objects, "apps", "flux-system")
	return objects, normalize.UnstructuredList(objects)
}

// applyOptions returns the controller's options. It takes over fields that kubectl applied, and skips objects that opt
// out.
func applyOptions(rules ignored) ssa.ApplyOptions {
	options := ssa.DefaultApplyOptions()
	options.ExclusionSelector = map[string]string{group + "/reconcile": "disabled", group + "/ssa": "Ignore"}
	options.IfNotPresentSelector = map[string]string{group + "/ssa": "IfNotPresent"}
	options.ForceSelector = map[string]string{group + "/force": "enabled"}
	options.DriftIgnoreRules = rules
	options.Cleanup = ssa.ApplyCleanupOptions{
		Annotations: []string{corev1.LastAppliedConfigAnnotation},
		FieldManagers: []ssa.FieldManager{
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationApply},
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: "before-first-apply", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: controller, OperationType: metav1.ManagedFieldsOperationUpdate},
		},
		Exclusions: map[string]string{group + "/ssa": "Merge"},
	}
	return options
}

// drift returns how an apply would change an object, or an empty string.
func drift(ctx context.Context, manager *ssa.ResourceManager, object *unstructured.Unstructured, rules ignored) (string,
	error) {
	apply := applyOptions(rules)
	entry, live, merged, err := manager.Diff(ctx, object.DeepCopy(), ssa.DiffOptions{
		Exclusions: apply.ExclusionSelector, IfNotPresentSelector: apply.IfNotPresentSelector,
		ForceSelector: apply.ForceSelector, DriftIgnoreRules: rules,
	})
	switch {
	case err != nil:
		return "", err
	case entry.Action == ssa.UnchangedAction || entry.Action == ssa.SkippedAction:
		return "", nil
	case live == nil:
		return entry.Action.String(), nil
	default:
		return entry.Action.String() + "\n" + cmp.Diff(live.Object, merged.Object), nil
	}
}
