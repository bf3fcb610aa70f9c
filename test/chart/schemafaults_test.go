package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFaultsOfASchemaAreFound breaks a correct pair of values.yaml and schema in one place each.
func TestFaultsOfASchemaAreFound(t *testing.T) {
	const text = "## Names\n\nweb:\n  # The port.\n  port: 1\n# A list of `{name: …}`.\nlist: []\n"
	const schema = `{"additionalProperties": false, "definitions": {"number": {"type": "integer"}}, "properties": {
		"web": {"additionalProperties": false, "properties": {"port": {"$ref": "#/definitions/number",
			"description": "The port."}}},
		"list": {"description": "A list of ` + "`{name: …}`" + `.", "anyOf": [{"type": "null"}, {"type": "array", "items":
			{"additionalProperties": false, "properties": {"name": {"description": "A name.", "type": "string"}}}}]}}}`
	for name, tc := range map[string]struct {
		from, to string // a change of values.yaml or of the schema
		want     []string
	}{
		"no difference":             {},
		"a value without a comment": {"  # The port.\n", "", []string{"values.yaml:4: web.port has no comment"}},
		"another comment": {"# The port.", "# Its port.",
			[]string{"the schema's description of web.port isn't its comment: run go generate ./test/chart"}},
		"a value that the schema lacks": {"list: []", "list: []\n# More.\nmore: 1", []string{"the schema lacks more"}},
		"a default of another type": {"port: 1", "port: one",
			[]string{"values.yaml:5: the default of web.port is of type string, and the schema allows integer"}},
		"a default of null": {"port: 1", "port: null",
			[]string{"values.yaml:5: the default of web.port is of type null, and the schema allows integer"}},
		"a value that values.yaml lacks": {"  # The port.\n  port: 1\n", "  # The port.\n  port: 1\n  # More.\n  more: 2\n",
			[]string{"the schema lacks web.more"}},
		"a key that values.yaml doesn't show": {`"list": {`, `"more": {"type": "string"}, "list": {`,
			[]string{"the schema allows more, and values.yaml doesn't show it"}},
		"a reference without a target": {`"number": {`, `"text": {`, []string{"the schema names no type of web.port"}},
		"no type": {`"type": "integer"`, `"minimum": 1`,
			[]string{"the schema names no type of web.port"}},
		"an alternative without a type": {`{"type": "null"}`, `{"const": null}`,
			[]string{"the schema names no type of list"}},
		"an open section": {`{"additionalProperties": false, "properties": {"port"`, `{"properties": {"port"`,
			[]string{`the schema allows any key in "web": set additionalProperties: false`}},
		"an open entry of a list": {`{"additionalProperties": false, "properties": {"name"`, `{"properties": {"name"`,
			[]string{`the schema allows any key in "list[]": set additionalProperties: false`}},
		"an optional key that the comment doesn't name": {`"name": {`, `"named": {`,
			[]string{"the schema allows list[].named, and the comment in values.yaml doesn't name it"}},
		"an optional key without a description": {`"description": "A name.", `, ``,
			[]string{"the schema doesn't describe list[].name"}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.from != "" && strings.Count(text+schema, tc.from) != 1 {
				t.Fatalf("%q isn't there once", tc.from)
			}
			v, err := readValues([]byte(strings.Replace(text, tc.from, tc.to, 1)),
				[]byte(strings.Replace(schema, tc.from, tc.to, 1)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, v.faults()); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}
