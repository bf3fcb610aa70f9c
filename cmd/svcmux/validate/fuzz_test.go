package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	yaml3 "go.yaml.in/yaml/v3"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/validation"
)

// FuzzFile reads any input as a file. The command never panics, gives the same report twice, names only existing lines,
// and prints nothing that could harm a terminal.
func FuzzFile(f *testing.F) {
	golden.Seeds(f)
	for _, text := range []string{
		goodChannel, warnedChannel, badChannel, stranger, goodChannel + "---\n" + badChannel, longAliases()[:64],
		"{\"kind\": \"List\", \"apiVersion\": \"v1\", \"items\": [{}]} {} [",
		"--- # x\n...\n%YAML 1.1\n---\nkind: Service\r\n",
		"kind: Service\napiVersion: v1\nmetadata: {annotations: {a: [1], b: yes}, name: \"\\e\"}\nspec: {Ports: 1}\n",
		strings.ReplaceAll(badChannel, "\n", "\u2028"), bom + badChannel, "a: &a [*a]", "<<: *x", "? [a]\n: b", "!!binary x",
		"{\"kind\": \"Service\" 1}\n{\"kind\": \"service\", \"apiVersion\": \"v1\"}\n{x\n{\"items\": [\n{",
		"kind: FooList\nitems: [{kind: Service}]\n",
		"kind: Service\napiVersion: v1\nspec: {ports: [{port: 1}, {port: a}], selector: {a: 1}}\n",
	} {
		f.Add([]byte(text))
	}
	lang, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		f.Fatal(err)
	}
	look := func(data []byte) *report {
		rep := &report{prefix: lang.Prefix(), Files: 1}
		judge{lang: lang, namespace: "default", rep: rep}.file("a.yaml", data)
		rep.sort()
		return rep
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rep := look(data)
		if diff := cmp.Diff(rep, look(data), cmp.AllowUnexported(report{})); diff != "" {
			t.Errorf("two reports of one file differ:\n%s", diff)
		}
		lines := 1
		for range breaks(data) {
			lines++
		}
		for _, at := range rep.Findings {
			if at.Line < 1 || at.Line > lines {
				t.Errorf("line %d of %d: %s", at.Line, lines, at.Message)
			}
		}
		for _, at := range rep.Unreadable {
			if at.Line < 0 || at.Line > lines+1 { // the YAML packages count the end of the file as a line
				t.Errorf("line %d of %d: %s", at.Line, lines, at.Message)
			}
		}
		for _, format := range []string{"text", "github", "json"} {
			print := printers()[format]
			var b bytes.Buffer
			if err := print(rep, &b); err != nil {
				t.Fatal(err)
			}
			strange := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
			if text := b.String(); format != "json" && strings.ContainsFunc(text, strange) {
				t.Errorf("%s could harm a terminal: %q", format, text)
			}
			if format == "json" && !json.Valid(b.Bytes()) {
				t.Errorf("not JSON: %q", b.String())
			}
		}
	})
}

// breaks yields each line break as YAML defines it.
func breaks(data []byte) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for at := 0; at < len(data); {
			n := breakLength(data[at:])
			if n > 0 && !yield(at) {
				return
			}
			at += max(n, 1)
		}
	}
}

// FuzzSplit compares with a reader of YAML streams: both must find the same documents with the same values.
func FuzzSplit(f *testing.F) {
	golden.Seeds(f)
	for _, text := range []string{
		"a\n---\nb", "---\na\n...\nb\n", "%YAML 1.1\n--- a\n---\n---\nb", "# c\n---\n\u2028---\nx", "a: |\n  b\n ---\n---\rc",
		"--- |\n x\n--- 'a'",
		"\u2008 ", "\u0085---\u0085a",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want, readable := documents(data)
		chunks, err := split(data)
		if !readable || err != nil {
			return
		}
		var got []string
		for _, c := range chunks {
			values, readable := documents(c.text)
			if !readable || len(values) > 1 {
				t.Fatalf("%q: the chunk %q has documents %q", data, c.text, values)
			}
			got = append(got, values...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-stream +chunks):\n%s", data, diff)
		}
	})
}

// documents reads all documents of a stream. Empty documents don't count.
func documents(data []byte) ([]string, bool) {
	var values []string
	decoder := yaml3.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml3.Node
		if err := decoder.Decode(&doc); err != nil {
			return values, errors.Is(err, io.EOF)
		}
		if root := doc.Content[0]; root.Tag != "!!null" || root.Value != "" {
			values = append(values, root.Tag+" "+root.Value)
		}
	}
}
