package main

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// normalizer removes from both sides what isn't compared: the status, as Argo CD does by default, and the fields of an
// Application's ignoreDifferences.
type normalizer struct {
	rules []struct {
		Group        string   `json:"group"`
		Kind         string   `json:"kind"`
		Name         string   `json:"name"`
		Namespace    string   `json:"namespace"`
		JSONPointers []string `json:"jsonPointers"`
	}
}

func newNormalizer(rules string) (*normalizer, error) {
	n := &normalizer{}
	if err := yaml.UnmarshalStrict([]byte(rules), &n.rules); err != nil {
		return nil, fmt.Errorf("-ignore: %w", err)
	}
	return n, nil
}

func (n *normalizer) Normalize(object *unstructured.Unstructured) error {
	unstructured.RemoveNestedField(object.Object, "status")
	for _, rule := range n.rules {
		if rule.Group != object.GroupVersionKind().Group || rule.Kind != object.GetKind() ||
			rule.Name != "" && rule.Name != object.GetName() || rule.Namespace != "" && rule.Namespace != object.GetNamespace() {
			continue
		}
		for _, pointer := range rule.JSONPointers {
			unstructured.RemoveNestedField(object.Object, path(pointer)...)
		}
	}
	return nil
}

// path splits a JSON pointer into its keys.
func path(pointer string) []string {
	words := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := range words {
		words[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(words[i])
	}
	return words
}
