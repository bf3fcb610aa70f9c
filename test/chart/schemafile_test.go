package chart

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestSchemaDescriptions writes the comments of values.yaml into values.schema.json, where editors find them.
func TestSchemaDescriptions(t *testing.T) {
	v := loadValues(t)
	var document yaml.Node
	// JSON is YAML, and a node keeps the order of keys
	if err := yaml.Unmarshal(read(t, schemaPath), &document); err != nil {
		t.Fatal(err)
	}
	for _, r := range v.rows(v.root, v.schema, "") {
		schema := document.Content[0]
		for key := range strings.SplitSeq(r.path, ".") {
			schema = child(child(schema, "properties"), key)
		}
		if schema == nil {
			t.Errorf("the schema lacks %s", r.path)
			continue
		}
		describe(schema, r.comment)
	}
	isGenerated(t, schemaPath, jsonText(t, document.Content[0], 0, 0)+"\n")
}

// child returns the value of a key, or nil.
func child(object *yaml.Node, key string) *yaml.Node {
	if object != nil {
		for i := 0; i+1 < len(object.Content); i += 2 {
			if object.Content[i].Value == key {
				return object.Content[i+1]
			}
		}
	}
	return nil
}

// describe sets a schema's description, as its first key.
func describe(schema *yaml.Node, text string) {
	if old := child(schema, "description"); old != nil {
		old.Value = text
		return
	}
	word := func(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
	schema.Content = append([]*yaml.Node{word("description"), word(text)}, schema.Content...)
}

const width = 140 // of a line, unless its description is longer

// jsonText formats a node on one line, or if that is too long, with a line for each entry. The node begins at a column,
// and its line is indented by depth steps.
func jsonText(t *testing.T, node *yaml.Node, depth, column int) string {
	if line := jsonLine(t, node); column+len([]rune(line)) < width || node.Kind == yaml.ScalarNode {
		return line
	}
	var entries []string
	indent := "\n" + strings.Repeat("  ", depth+1)
	if node.Kind == yaml.SequenceNode {
		for _, entry := range node.Content {
			entries = append(entries, jsonText(t, entry, depth+1, len(indent)))
		}
		return "[" + indent + strings.Join(entries, ","+indent) + indent[:len(indent)-2] + "]"
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := jsonLine(t, node.Content[i]) + ": "
		entries = append(entries, key+jsonText(t, node.Content[i+1], depth+1, len(indent)+len(key)))
	}
	return "{" + indent + strings.Join(entries, ","+indent) + indent[:len(indent)-2] + "}"
}

// jsonLine formats a node on one line.
func jsonLine(t *testing.T, node *yaml.Node) string {
	var parts []string
	switch node.Kind {
	case yaml.SequenceNode:
		for _, entry := range node.Content {
			parts = append(parts, jsonLine(t, entry))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			parts = append(parts, jsonLine(t, node.Content[i])+": "+jsonLine(t, node.Content[i+1]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	var value any
	if err := node.Decode(&value); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}
