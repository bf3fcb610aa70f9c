package validate

import (
	"fmt"
	"maps"
	"strconv"

	yaml3 "go.yaml.in/yaml/v3"

	"nowake.ai/svc-lb-mux/validation"
)

// repeated reports each field that is set more than once, once. It reads the tree, since the decoded value has only the
// last one. Fields below a dropped value aren't examined.
func (o object) repeated() []validation.Problem {
	var found []validation.Problem
	var walk func(node *yaml3.Node, path string)
	walk = func(node *yaml3.Node, path string) {
		if node.Kind == yaml3.SequenceNode {
			for i, child := range node.Content {
				walk(child, path+"["+strconv.Itoa(i)+"]")
			}
		}
		if node.Kind != yaml3.MappingNode {
			return
		}
		times := map[string]int{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			times[node.Content[i].Value]++
		}
		left := maps.Clone(times)
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i].Value
			if left[key]--; left[key] > 0 {
				continue
			}
			at := pathTo(path, key)
			if times[key] > 1 && len(found) < maxMistakes {
				found = append(found, repeatedField(at, key, times[key]))
			}
			walk(node.Content[i+1], at)
		}
	}
	if o.at.node != nil {
		walk(o.at.node, "")
	}
	return found
}

func repeatedField(at, key string, times int) validation.Problem {
	often := "twice"
	if times > 2 {
		often = fmt.Sprintf("%d times", times)
	}
	return validation.Problem{
		Reason: RepeatedField, Field: at, Value: key,
		Message: fmt.Sprintf("%s: is set %s, and only the last one counts: keep one", printable(at), often),
	}
}
