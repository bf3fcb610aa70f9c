package chart

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const schemaPath = folder + "/values.schema.json"

// TestSchemaHasTheValues compares values.schema.json with values.yaml.
func TestSchemaHasTheValues(t *testing.T) {
	for _, fault := range loadValues(t).faults() {
		t.Error(fault)
	}
}

// schemaNode is the part of JSON Schema that says where values may be, their types, and their meaning.
type schemaNode struct {
	Properties  map[string]*schemaNode `json:"properties"`
	Additional  any                    `json:"additionalProperties"`
	Type        any                    `json:"type"`
	Ref         string                 `json:"$ref"`
	AnyOf       []*schemaNode          `json:"anyOf"`
	Items       *schemaNode            `json:"items"`
	Description string                 `json:"description"`
	Definitions map[string]*schemaNode `json:"definitions"`
}

func (s *schemaNode) property(name string) *schemaNode {
	if s == nil {
		return nil
	}
	return s.Properties[name]
}

// alternatives returns the schemas that hold for a value: those of anyOf, or the one that a reference names.
func (s *schemaNode) alternatives(root *schemaNode) []*schemaNode {
	if s.Ref != "" {
		if s = root.Definitions[strings.TrimPrefix(s.Ref, "#/definitions/")]; s == nil {
			return nil
		}
	}
	if s.AnyOf != nil {
		return s.AnyOf
	}
	return []*schemaNode{s}
}

// types returns the types that a schema allows. It returns none if an alternative names no type.
func (s *schemaNode) types(root *schemaNode) []string {
	var all []string
	for _, one := range s.alternatives(root) {
		switch named := one.Type.(type) {
		case string:
			all = append(all, named)
		case []any:
			for _, name := range named {
				all = append(all, fmt.Sprint(name))
			}
		default:
			return nil
		}
	}
	return all
}

// faults returns the differences between values.yaml and its schema.
func (v *values) faults() []string {
	var faults []string
	for _, r := range v.rows(v.root, v.schema, "") {
		faults = append(faults, v.faultsOf(r)...)
	}
	faults = append(faults, v.hidden(v.root, v.schema, "")...)
	return append(faults, v.open(v.schema, "")...)
}

func (v *values) faultsOf(r row) []string {
	if r.comment == "" {
		return []string{fmt.Sprintf("values.yaml:%d: %s has no comment", r.line, r.path)}
	}
	schema := v.schema
	for key := range strings.SplitSeq(r.path, ".") {
		schema = schema.property(key)
	}
	if schema == nil {
		return []string{fmt.Sprintf("the schema lacks %s", r.path)}
	}
	faults := v.undescribed(r.path, schema)
	if schema.Description != r.comment {
		faults = append(faults,
			fmt.Sprintf("the schema's description of %s isn't its comment: run go generate ./test/chart", r.path))
	}
	types := schema.types(v.schema)
	if of := typeOf(r.value); !slices.Contains(types, of) && len(types) > 0 {
		faults = append(faults, fmt.Sprintf("values.yaml:%d: the default of %s is of type %s, and the schema allows %s",
			r.line, r.path, of, strings.Join(types, ", ")))
	}
	return append(faults, v.unmentioned(r.path, r.comment, schema)...)
}

// undescribed returns a fault for a schema without a type or a description.
func (v *values) undescribed(path string, schema *schemaNode) []string {
	var faults []string
	if schema.Description == "" {
		faults = append(faults, fmt.Sprintf("the schema doesn't describe %s", path))
	}
	if len(schema.types(v.schema)) == 0 {
		faults = append(faults, fmt.Sprintf("the schema names no type of %s", path))
	}
	return faults
}

// unmentioned checks the optional keys in a value: values.yaml doesn't show them, so the value's comment must name
// them.
func (v *values) unmentioned(path, comment string, schema *schemaNode) []string {
	var faults []string
	for _, one := range schema.alternatives(v.schema) {
		if one.Items != nil {
			faults = append(faults, v.unmentioned(path+"[]", comment, one.Items)...)
		}
		for _, name := range slices.Sorted(maps.Keys(one.Properties)) {
			full, below := join(path, name), one.Properties[name]
			if !regexp.MustCompile(`\b` + name + `\b`).MatchString(comment) {
				faults = append(faults, fmt.Sprintf("the schema allows %s, and the comment in values.yaml doesn't name it", full))
			}
			faults = append(faults, v.undescribed(full, below)...)
			faults = append(faults, v.unmentioned(full, comment, below)...)
		}
	}
	return faults
}

// hidden returns a fault for each key that a section of the schema allows and values.yaml doesn't show.
func (v *values) hidden(section *yaml.Node, schema *schemaNode, path string) []string {
	var faults []string
	shown := map[string]bool{"global": path == ""} // Helm's own key, for subcharts
	for i := 0; i+1 < len(section.Content); i += 2 {
		key, value := section.Content[i].Value, section.Content[i+1]
		shown[key] = true
		if below := schema.property(key); isSection(value, below) {
			faults = append(faults, v.hidden(value, below, join(path, key))...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if !shown[name] {
			faults = append(faults, fmt.Sprintf("the schema allows %s, and values.yaml doesn't show it", join(path, name)))
		}
	}
	return faults
}

// open returns a fault for each map of the schema that accepts keys besides its own.
func (v *values) open(schema *schemaNode, path string) []string {
	if schema == nil || path == "env[]" { // an entry of env is a Kubernetes EnvVar, so the API server checks its keys
		return nil
	}
	var faults []string
	if schema.Properties != nil && schema.Additional != false {
		faults = append(faults, fmt.Sprintf("the schema allows any key in %q: set additionalProperties: false", path))
	}
	faults = append(faults, v.open(schema.Items, path+"[]")...)
	for _, one := range schema.AnyOf {
		faults = append(faults, v.open(one, path)...)
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		faults = append(faults, v.open(schema.Properties[name], join(path, name))...)
	}
	return faults
}

// typeOf returns the JSON Schema type of a value.
func typeOf(value *yaml.Node) string {
	switch value.Kind {
	case yaml.MappingNode:
		return "object"
	case yaml.SequenceNode:
		return "array"
	}
	names := map[string]string{"!!str": "string", "!!int": "integer", "!!float": "number", "!!bool": "boolean",
		"!!null": "null"}
	return names[value.Tag]
}
