package validate

import (
	"strconv"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
)

// place is a part of a document, and its line.
type place struct {
	node   *yaml3.Node // nil if the document has no YAML tree
	before int         // number of lines in the file before the document
	line   int         // line in the file
}

// child returns the value of a key, with the key's line: a block of text starts one line later. If a key is set twice,
// it returns the last value, as Kubernetes does.
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

// scalars returns the scalar values of a mapping as they are written in the file.
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

// at follows a path such as spec.ports[2].name. If a field is missing, it returns the last part that exists.
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

// firstStep cuts the first step from a path. A key in brackets may contain brackets and dots itself; such a key is
// always the last step.
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
