package main

import (
	"strconv"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
)

// place is a part of a document, and where it is.
type place struct {
	node   *yaml3.Node // nil if the document could only be read as a whole
	before int         // lines of the file before the document
	line   int         // of the file
}

// child returns the value of a key, at the key's line: the value of a block of text begins a line later. Of a key that
// is there twice the last counts, as it does to Kubernetes.
func (p place) child(key string) (place, bool) {
	node := p.resolved()
	if node == nil || node.Kind != yaml3.MappingNode {
		return p, false
	}
	for i := len(node.Content) - 2; i >= 0; i -= 2 {
		if node.Content[i].Value == key {
			return place{node.Content[i+1], p.before, p.before + node.Content[i].Line}, true
		}
	}
	return p, false
}

func (p place) item(i int) (place, bool) {
	node := p.resolved()
	if node == nil || node.Kind != yaml3.SequenceNode || i < 0 || i >= len(node.Content) {
		return p, false
	}
	return place{node.Content[i], p.before, p.before + node.Content[i].Line}, true
}

func (p place) resolved() *yaml3.Node {
	if p.node != nil && p.node.Kind == yaml3.AliasNode {
		return p.node.Alias
	}
	return p.node
}

// scalars returns the scalars below a mapping as they are written.
func (p place) scalars() map[string]string {
	all := map[string]string{}
	node := p.resolved()
	if node == nil || node.Kind != yaml3.MappingNode {
		return all
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if value := (place{node: node.Content[i+1]}).resolved(); value.Kind == yaml3.ScalarNode {
			all[node.Content[i].Value] = value.Value
		}
	}
	return all
}

// at goes down a path such as spec.ports[2].name as far as the document does: where a field is missing, its parent is
// the place to look at.
func (p place) at(path string) place {
	for path != "" {
		step, isIndex, rest := firstStep(path)
		var below place
		var found bool
		if isIndex {
			i, _ := strconv.Atoi(step)
			below, found = p.item(i)
		} else {
			below, found = p.child(step)
		}
		if !found {
			return p
		}
		p, path = below, rest
	}
	return p
}

// firstStep cuts a path. A key in brackets may have brackets and dots of its own, and is always the last step.
func firstStep(path string) (step string, isIndex bool, rest string) {
	if path[0] == '[' {
		if inside, after, closed := strings.Cut(path[1:], "]"); closed {
			if _, err := strconv.Atoi(inside); err == nil {
				return inside, true, strings.TrimPrefix(after, ".")
			}
		}
		return strings.TrimSuffix(path[1:], "]"), false, ""
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		return path, false, ""
	}
	return path[:end], false, strings.TrimPrefix(path[end:], ".")
}
