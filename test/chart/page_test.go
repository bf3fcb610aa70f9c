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

//go:generate go test . -count=1 -run ^TestValuesPage$ -update

var update = flag.Bool("update", false, "write docs/values.md again")

const pagePath = "../../docs/values.md"

// TestValuesPage writes the page from the chart's values, their comments and their schema. It fails for a value without
// a comment or a place in the schema, and for a key of the schema that values.yaml doesn't show.
func TestValuesPage(t *testing.T) {
	p := loadPage(t)
	p.mapping(p.root, p.schema, "")
	if t.Failed() {
		return
	}
	text := "<!-- Made by go generate ./test/chart from charts/svc-lb-mux/values.yaml. -->\n\n# The chart's values\n\n" +
		"A value that isn't here is refused, with its path.\n" + p.out.String()
	if *update {
		if err := os.WriteFile(pagePath, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if onDisk, _ := os.ReadFile(pagePath); string(onDisk) != text {
		t.Error("docs/values.md differs from values.yaml: run go generate ./test/chart")
	}
}

// schemaNode is the part of JSON Schema that says where values may be.
type schemaNode struct {
	Properties map[string]schemaNode `json:"properties"`
	Additional any                   `json:"additionalProperties"`
	Type       any                   `json:"type"`
	Ref        string                `json:"$ref"`
}

type page struct {
	t       *testing.T
	lines   []string // lines of values.yaml
	root    *yaml.Node
	schema  schemaNode
	section string
	out     strings.Builder
}

func loadPage(t *testing.T) *page {
	t.Helper()
	p := &page{t: t}
	data := read(t, filepath.Join(folder, "values.yaml"))
	p.lines = strings.Split(string(data), "\n")
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	p.root = document.Content[0]
	if err := json.Unmarshal(read(t, filepath.Join(folder, "values.schema.json")), &p.schema); err != nil {
		t.Fatal(err)
	}
	return p
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// mapping walks a map of values along with its place in the schema.
func (p *page) mapping(values *yaml.Node, schema schemaNode, path string) {
	if schema.Additional != false {
		p.t.Errorf("the schema allows any key in %q: set additionalProperties: false", path)
	}
	shown := map[string]bool{"global": path == ""} // Helm's own key, for subcharts
	for i := 0; i+1 < len(values.Content); i += 2 {
		key, value := values.Content[i], values.Content[i+1]
		shown[key.Value] = true
		full := strings.TrimPrefix(path+"."+key.Value, ".")
		below, known := schema.Properties[key.Value]
		if !known {
			p.t.Errorf("the schema lacks %s", full)
			continue
		}
		if value.Kind == yaml.MappingNode && len(value.Content) > 0 && below.Properties != nil {
			p.mapping(value, below, full)
			continue
		}
		p.row(full, key, value)
	}
	for name := range schema.Properties {
		if !shown[name] {
			p.t.Errorf("the schema allows %s, and values.yaml doesn't show it", strings.TrimPrefix(path+"."+name, "."))
		}
	}
}

func (p *page) row(path string, key, value *yaml.Node) {
	comment := p.comment(key.Line)
	if comment == "" {
		p.t.Errorf("values.yaml:%d: %s has no comment", key.Line, path)
	}
	if section, intro := p.sectionOf(key.Line); section != p.section {
		p.section = section
		fmt.Fprintf(&p.out, "\n## %s\n\n", section)
		if intro != "" {
			p.out.WriteString(intro + "\n\n")
		}
		p.out.WriteString("| value | default | |\n| --- | --- | --- |\n")
	}
	fmt.Fprintf(&p.out, "| `%s` | `%s` | %s |\n", path, p.plain(value), strings.ReplaceAll(comment, "|", `\|`))
}

// comment returns the comment right above a line.
func (p *page) comment(line int) string {
	var said []string
	for i := line - 2; i >= 0; i-- {
		text, isComment := strings.CutPrefix(strings.TrimSpace(p.lines[i]), "# ")
		if !isComment {
			break
		}
		said = append([]string{text}, said...)
	}
	return strings.Join(said, " ")
}

// sectionOf returns the last heading above a line, and the paragraph that may follow it.
func (p *page) sectionOf(line int) (heading, intro string) {
	for i := line - 1; i >= 0; i-- {
		heading, found := strings.CutPrefix(p.lines[i], "## ")
		if !found {
			continue
		}
		var said []string
		for j := i + 2; strings.HasPrefix(p.lines[j], "# "); j++ {
			said = append(said, strings.TrimPrefix(p.lines[j], "# "))
			if p.lines[j+1] == "" {
				intro = strings.Join(said, " ")
			}
		}
		return heading, intro
	}
	p.t.Errorf("values.yaml:%d is below no heading", line)
	return "", ""
}

// plain formats a default as JSON on one line, which is YAML too.
func (p *page) plain(value *yaml.Node) string {
	var v any
	if err := value.Decode(&v); err != nil {
		p.t.Error(err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		p.t.Error(err)
	}
	return strings.TrimSpace(out.String())
}
