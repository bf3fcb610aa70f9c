package chart

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

//go:generate go test . -count=1 -run ^Test(ValuesPage|ChartReadme|SchemaDescriptions|Icon)$ -update

var update = flag.Bool("update", false, "write generated files again")

// TestValuesPage writes docs/values.md from the chart's values and their comments.
func TestValuesPage(t *testing.T) {
	v := loadValues(t)
	isGenerated(t, "../../docs/values.md", madeFrom+"\n# The chart's values\n\n"+
		"A value that isn't here is refused, with its path.\n"+v.tables("##"))
}

// TestChartReadme writes the README in the chart's package: the text in testdata/readme.md, and the same tables as in
// docs/values.md.
func TestChartReadme(t *testing.T) {
	v := loadValues(t)
	isGenerated(t, filepath.Join(folder, "README.md"), madeFrom+"\n"+string(read(t, "testdata/readme.md"))+v.tables("###"))
}

const madeFrom = "<!-- Made by go generate ./test/chart from charts/svc-lb-mux/values.yaml. -->\n"

// isGenerated fails if the file at path doesn't contain text. With -update it writes the file first.
func isGenerated(t *testing.T, path, text string) {
	t.Helper()
	if t.Failed() {
		return
	}
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if onDisk, _ := os.ReadFile(path); string(onDisk) != text {
		t.Errorf("%s is out of date: run go generate ./test/chart", path)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// values is values.yaml and its schema.
type values struct {
	lines  []string // lines of values.yaml
	root   *yaml.Node
	schema *schemaNode
}

func loadValues(t *testing.T) *values {
	t.Helper()
	v, err := readValues(read(t, filepath.Join(folder, "values.yaml")), read(t, schemaPath))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func readValues(text, schema []byte) (*values, error) {
	v := &values{lines: strings.Split(string(text), "\n")}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	v.root = document.Content[0]
	return v, json.Unmarshal(schema, &v.schema)
}

// row is a value that a user sets as a whole. Sections, which are maps with keys of the chart, have a row for each of
// their values.
type row struct {
	path    string
	line    int // in values.yaml
	value   *yaml.Node
	comment string
}

// rows returns the values of a map, in their order.
func (v *values) rows(section *yaml.Node, schema *schemaNode, path string) []row {
	var all []row
	for i := 0; i+1 < len(section.Content); i += 2 {
		key, value := section.Content[i], section.Content[i+1]
		full := join(path, key.Value)
		if below := schema.property(key.Value); isSection(value, below) {
			all = append(all, v.rows(value, below, full)...)
			continue
		}
		all = append(all, row{full, key.Line, value, v.comment(key.Line)})
	}
	return all
}

func isSection(value *yaml.Node, schema *schemaNode) bool {
	return value.Kind == yaml.MappingNode && len(value.Content) > 0 && schema != nil && schema.Properties != nil
}

func join(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }

// tables formats all values as a table for each section of values.yaml, under a heading of that depth.
func (v *values) tables(heading string) string {
	var out strings.Builder
	last := ""
	for _, r := range v.rows(v.root, v.schema, "") {
		if section, intro := v.sectionOf(r.line); section != last {
			last = section
			fmt.Fprintf(&out, "\n%s %s\n\n", heading, section)
			if intro != "" {
				out.WriteString(intro + "\n\n")
			}
			out.WriteString("| value | default | |\n| --- | --- | --- |\n")
		}
		fmt.Fprintf(&out, "| `%s` | `%s` | %s |\n", r.path, plain(r.value), strings.ReplaceAll(r.comment, "|", `\|`))
	}
	return out.String()
}

// comment returns the comment right above a line.
func (v *values) comment(line int) string {
	var said []string
	for i := line - 2; i >= 0; i-- {
		text, isComment := strings.CutPrefix(strings.TrimSpace(v.lines[i]), "# ")
		if !isComment {
			break
		}
		said = append([]string{text}, said...)
	}
	return strings.Join(said, " ")
}

// sectionOf returns the last heading above a line, and the paragraph that may follow it.
func (v *values) sectionOf(line int) (heading, intro string) {
	for i := line - 1; i >= 0; i-- {
		heading, found := strings.CutPrefix(v.lines[i], "## ")
		if !found {
			continue
		}
		var said []string
		for j := i + 2; strings.HasPrefix(v.lines[j], "# "); j++ {
			said = append(said, strings.TrimPrefix(v.lines[j], "# "))
			if v.lines[j+1] == "" {
				intro = strings.Join(said, " ")
			}
		}
		return heading, intro
	}
	return "", ""
}

// plain formats a default as JSON on one line, which is YAML too.
func plain(value *yaml.Node) string {
	var v any
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := value.Decode(&v); err != nil {
		return err.Error()
	}
	if err := encoder.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(out.String())
}
