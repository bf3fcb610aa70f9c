package validate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
	kubejson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// document is one value of a file. The tree has the lines; the value is decoded as Kubernetes does, which reads an
// older YAML with other booleans and numbers.
type document struct {
	value any
	tree  place
}

// parse returns the documents of a chunk, and an error for each part that can't be read. A chunk that can't hold a
// Service or a route is only parsed as a tree.
func parse(c chunk) ([]document, []error) { return parseKinds(c, mayHold) }

// parseKinds is parse for the kinds that the caller looks for.
func parseKinds(c chunk, mayHold func(kind string) bool) ([]document, []error) {
	texts, broken := jsonTexts(c)
	if len(texts) == 0 && len(broken) == 0 {
		docs, err := parseYAML(c, mayHold)
		if err != nil {
			return nil, []error{err}
		}
		return docs, nil
	}
	if len(broken) > 0 { // a text that looks like JSON may be YAML; if it is neither, the JSON errors are reported
		if docs, err := parseYAML(c, mayHold); err == nil {
			return docs, nil
		}
	}
	var docs []document
	for _, text := range texts {
		doc, err := parseJSON(text, mayHold)
		if err != nil {
			broken = append(broken, err)
			continue
		}
		docs = append(docs, doc)
	}
	return docs, broken
}

func parseJSON(text chunk, mayHold func(string) bool) (document, error) {
	var value any
	if err := kubejson.Unmarshal(text.text, &value); err != nil {
		return document{}, unreadableAt(text.line, err)
	}
	tree := place{line: text.line}
	if fields, _ := value.(map[string]any); fields != nil && mayHold(fmt.Sprint(fields["kind"])) {
		tree, _ = parseTree(text) // only line numbers depend on the tree
	}
	return document{value, tree}, nil
}

func parseYAML(c chunk, mayHold func(string) bool) ([]document, error) {
	tree, err := parseTree(c)
	if err != nil {
		return nil, err
	}
	if !tree.mayHold(mayHold) {
		return nil, nil
	}
	if size := expandedSize(tree.node, map[*yaml3.Node]int{}); size > maxExpanded {
		return nil, unreadableAt(c.line, fmt.Errorf("its aliases (*) stand for more than %d MiB: write out what is meant",
			maxExpanded>>20))
	}
	data, err := yaml.YAMLToJSON(c.text)
	if err != nil {
		return nil, yamlError(c.line, err)
	}
	var value any
	if err := kubejson.Unmarshal(data, &value); err != nil {
		return nil, unreadableAt(c.line, err)
	}
	return []document{{value, tree}}, nil
}

func parseTree(c chunk) (place, error) {
	var node, more yaml3.Node
	decoder := yaml3.NewDecoder(bytes.NewReader(c.text))
	err := decoder.Decode(&node)
	if errors.Is(err, io.EOF) {
		return place{}, nil
	}
	if err == nil { // the decoder would ignore a second value
		if err = decoder.Decode(&more); errors.Is(err, io.EOF) {
			err = nil
		} else if err == nil {
			err = errors.New("there is more than one document between two lines of ---")
		}
	}
	if err != nil {
		return place{line: c.line}, yamlError(c.line, err)
	}
	return place{node: node.Content[0], before: c.line - 1, line: c.line + node.Content[0].Line - 1}, nil
}

// mayHold is true if the document's kind may be one that the caller looks for. It is also true for a document with a
// merge key (<<), which could bring the kind.
func (p place) mayHold(may func(kind string) bool) bool {
	if p.node == nil || p.node.Kind != yaml3.MappingNode {
		return false
	}
	for i := 0; i+1 < len(p.node.Content); i += 2 {
		key, value := p.node.Content[i], p.node.Content[i+1]
		if value.Kind == yaml3.AliasNode {
			value = value.Alias
		}
		if key.Value == "<<" || key.Value == "kind" && may(value.Value) || key.Kind == yaml3.AliasNode {
			return true
		}
	}
	return false
}

// maxExpanded limits the size of a document with its aliases expanded: a hundred aliases of a long text can be
// gigabytes, and the YAML package limits the number of aliases, not their bytes.
const maxExpanded = maxFile

// expandedSize returns about how large a tree is with all aliases expanded.
func expandedSize(node *yaml3.Node, known map[*yaml3.Node]int) int {
	if size, seen := known[node]; seen {
		return size
	}
	known[node] = maxExpanded + 1 // a node that contains itself is endless
	size := len(node.Value) + 1
	if node.Kind == yaml3.AliasNode {
		size += expandedSize(node.Alias, known)
	}
	for _, child := range node.Content {
		size = min(size+expandedSize(child, known), maxExpanded+1)
	}
	known[node] = size
	return size
}

// errAt is an error at a line of a file.
type errAt struct {
	line int
	text string
}

func (e errAt) Error() string { return e.text }

func unreadableAt(line int, err error) error {
	return errAt{line, "can't be read: " + strings.TrimPrefix(err.Error(), "yaml: ")}
}

// yamlError moves the line number from the YAML package's message into errAt: theirs counts from the document's start.
func yamlError(first int, err error) error {
	found := regexp.MustCompile(`^yaml: line (\d+): (?s)(.*)$`).FindStringSubmatch(err.Error())
	if found == nil {
		return unreadableAt(first, err)
	}
	line, _ := strconv.Atoi(found[1])
	return unreadableAt(first+max(line-1, 0), errors.New(found[2]))
}
