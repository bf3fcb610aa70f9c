package validate

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// where returns the found Services and the errors, each with its line.
func where(t *testing.T, text string) []string {
	t.Helper()
	chunks, err := split([]byte(text))
	if err != nil {
		return []string{"error: " + err.Error()}
	}
	var got []string
	for _, c := range chunks {
		docs, errs := parse(c)
		var found finder
		for _, doc := range docs {
			found.find(doc.value, doc.tree, "", "")
		}
		for _, o := range found.services {
			meta, _ := o.fields["metadata"].(map[string]any)
			got = append(got, fmt.Sprintf("%v in line %d", meta["name"], o.at.at("metadata.name").line))
		}
		for _, o := range found.nearServices {
			got = append(got, fmt.Sprintf("odd %s in line %d", o.mistake.Field, o.at.at(o.mistake.Field).line))
		}
		for _, err := range errs {
			var at errAt
			if errors.As(err, &at) {
				got = append(got, fmt.Sprintf("error in line %d", at.line))
			}
		}
	}
	return got
}

func TestReading(t *testing.T) {
	service := func(name string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {name: " + name + "}\n"
	}
	inJSON := func(name string) string {
		return `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "` + name + `"}}`
	}
	crlf := strings.NewReplacer("\n", "\r\n")
	tests := map[string]struct {
		text string
		want []string
	}{
		"one document": {service("a"), []string{"a in line 3"}},
		"two documents": {service("a") + "---\n" + service("b"),
			[]string{"a in line 3", "b in line 7"}},
		"empty documents": {"---\n---\n\n---\n" + service("a") + "---\n# c\n---\n",
			[]string{"a in line 7"}},
		"a comment after the dashes": {"--- # Source: x\n" + service("a"), []string{"a in line 4"}},
		"spaces and a tab after the dashes": {service("a") + "--- \t \n" + service("b"),
			[]string{"a in line 3", "b in line 7"}},
		"comments before the first dashes": {"# Source: x\n---\n" + service("a"), []string{"a in line 5"}},
		"a value beside the dashes": {"--- " + inJSON("a") + "\n---\n" + service("b"),
			[]string{"a in line 1", "b in line 5"}},
		"Windows' line ends": {crlf.Replace(service("a") + "---\n" + service("b")),
			[]string{"a in line 3", "b in line 7"}},
		"an old Mac's line ends": {strings.ReplaceAll(service("a")+"---\n"+service("b"), "\n", "\r"),
			[]string{"a in line 3", "b in line 7"}},
		"Unicode line ends": {strings.ReplaceAll(service("a")+"---\u2029"+service("b"), "\n", "\u2028"),
			[]string{"a in line 3", "b in line 7"}},
		"a byte order mark": {bom + service("a"), []string{"a in line 3"}},
		"a byte order mark in the middle": {service("a") + bom + "---\n" + service("b"),
			[]string{"a in line 3", "b in line 7"}},
		"dots end a document": {service("a") + "...\n" + service("b"),
			[]string{"a in line 3", "b in line 7"}},
		"dots, a directive, dashes": {service("a") + "...\n%YAML 1.1\n---\n" + service("b"),
			[]string{"a in line 3", "b in line 9"}},
		"dashes in a block of text are indented": {service("a") + "spec:\n  x: |\n    ---\n    kind: Service\n",
			[]string{"a in line 3"}},
		"four dashes aren't a separator": {"x: |\n  ----\n---a: b\n---\n" + service("a"), []string{"a in line 7"}},
		"text after a value":             {"{a: b}\nkind: Service", []string{"error in line 1"}},
		"no line end at the end": {service("a") + "---\n" + inJSON("b"),
			[]string{"a in line 3", "b in line 5"}},
		"JSON": {inJSON("a"), []string{"a in line 1"}},
		"JSON values in a row": {inJSON("a") + "\n\n" + inJSON("b") + inJSON("c"),
			[]string{"a in line 1", "b in line 3", "c in line 3"}},
		"JSON in lines of its own": {"{\n\"apiVersion\": \"v1\",\n\"kind\": \"Service\",\n\"metadata\": " +
			"{\n\t\"name\": \"a\"}}", []string{"a in line 5"}},
		"JSON with a surrogate pair": {strings.Replace(inJSON("a"), "}}", `, "labels": {"x": "\ud83d\ude00"}}}`, 1),
			[]string{"a in line 1"}},
		"YAML that begins like JSON": {"{apiVersion: v1, kind: Service, metadata: {name: a}}",
			[]string{"a in line 1"}},
		"JSON in a row, the second one broken": {inJSON("a") + "\n{\"kind\" \"Service\"}\n" + inJSON("c"),
			[]string{"a in line 1", "c in line 3", "error in line 2"}},
		"two broken JSON values": {"{x}\n" + inJSON("b") + "\n{y}\n\n{z}\n" + inJSON("f") + inJSON("g"),
			[]string{"b in line 2", "f in line 6", "g in line 6", "error in line 1", "error in line 3", "error in line 5"}},
		"a JSON value without its end": {inJSON("a") + "\n{\"a\": 1\n" + inJSON("c"),
			[]string{"a in line 1", "c in line 3", "error in line 3"}},
		"a broken JSON value of many lines": {"{\n  \"a\": {\n    \"b\": 1,\n  }\n}\n{\n  \"apiVersion\": \"v1\", " +
			"\"kind\": \"Service\", \"metadata\": {\"name\": \"b\"},\n}\n" + inJSON("c"),
			[]string{"c in line 9", "error in line 4", "error in line 8"}},
		"a JSON value cut off by the file's end": {inJSON("a") + "\n{\"a\": [\n", []string{"a in line 1", "error in line 2"}},
		"words after JSON":                       {inJSON("a") + "\nwords\n", []string{"a in line 1", "error in line 2"}},
		"a JSON string without its end": {"{\"a\": \"b\n}\n" + inJSON("b"),
			[]string{"b in line 3", "error in line 1"}},
		"JSON that only YAML reads": {"{\"apiVersion\": \"v1\", kind: Service,\n\"metadata\": {\"name\": \"a\",}}",
			[]string{"a in line 2"}},
		"a comment after JSON": {inJSON("a") + " # {\n", []string{"a in line 1"}},
		"a number that is too large": {inJSON("a") + "\n{\"a\": 1e999}\n" + inJSON("c"),
			[]string{"a in line 1", "c in line 3", "error in line 2"}},
		"broken JSON": {"\n{\"kind\": \"Service\",\n nonsense}}", []string{"error in line 3"}},
		"one broken document hides no other": {service("a") + "---\nx: [\n---\n" + service("b"),
			[]string{"a in line 3", "error in line 5", "b in line 9"}},
		"a List": {"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata:\n    name: a\n- " +
			inJSON("b"), []string{"a in line 7", "b in line 8"}},
		"a List in a List": {
			`{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "List", "items": [` + inJSON("a") +
				"]}]}", []string{"a in line 1"}},
		"a ServiceList's items need no kind": {"apiVersion: v1\nkind: ServiceList\nitems:\n- metadata: {name: a}\n",
			[]string{"a in line 4"}},
		"a List of another group": {"apiVersion: example.com/v1\nkind: List\nitems:\n- " + inJSON("a"),
			[]string{"a in line 4"}},
		"an unknown list": {"apiVersion: example.com/v1\nkind: FooList\nitems:\n- " + inJSON("a") +
			"\n- metadata: {name: b}", []string{"a in line 4"}},
		"a function's ResourceList": {"apiVersion: config.kubernetes.io/v1\nkind: " +
			"ResourceList\nfunctionConfig: {kind: Service}\nitems:\n- " + inJSON("a"), []string{"a in line 5"}},
		"a ResourceList in JSON": {`{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList",` + "\n" + `"items": [` +
			inJSON("a") + "]}", []string{"a in line 2"}},
		"a PodList": {"apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n", nil},
		"a ServiceList of another group": {"apiVersion: serving.knative.dev/v1\nkind: ServiceList\nitems:\n- " +
			"metadata: {name: a}\n", nil},
		"a list in lower case": {"apiVersion: v1\nkind: list\nitems:\n- " + inJSON("a"), []string{"a in line 4"}},
		"a List's item without a version": {"apiVersion: v1\nkind: List\nitems:\n- kind: Service\n",
			[]string{"odd apiVersion in line 4"}},
		"a ServiceList in lower case": {"apiVersion: v1\nkind: servicelist\nitems:\n- metadata: {name: a}\n",
			[]string{"odd kind in line 4"}},
		"a Service in lower case": {strings.Replace(service("a"), "Service", "service", 1), []string{"odd kind in " +
			"line 2"}},
		"Services": {strings.Replace(service("a"), "Service", "Services", 1), []string{"odd kind in " +
			"line 2"}},
		"a kind with two letters swapped": {strings.Replace(inJSON("a"), "Service", "Serivce", 1),
			[]string{"odd kind in line 1"}},
		"a Service without a version": {"kind: Service\nmetadata: {name: a}", []string{"odd apiVersion in line 1"}},
		"a Service of a future version": {strings.Replace(service("a"), "v1", "v2", 1), []string{"odd apiVersion " +
			"in line 1"}},
		"a Service of a group without a dot": {strings.Replace(service("a"), "v1", "apps/v1", 1),
			[]string{"odd apiVersion in line 1"}},
		"a version that is a number": {strings.Replace(service("a"), "v1", "1", 1), []string{"odd apiVersion " +
			"in line 1"}},
		"a kind that isn't similar":        {strings.Replace(service("a"), "Service", "Secret", 1), nil},
		"a ServiceAccount":                 {strings.Replace(service("a"), "Service", "ServiceAccount", 1), nil},
		"a Service of another group":       {strings.Replace(service("a"), "v1", "serving.knative.dev/v1", 1), nil},
		"another kind":                     {strings.Replace(service("a"), "Service", "Deployment", 1), nil},
		"a List that holds no objects":     {"apiVersion: v1\nkind: List\nitems: [1, null, [x], {}]", nil},
		"a List whose items are an object": {"apiVersion: v1\nkind: List\nitems: {a: b}", nil},
		"an anchor for the kind": {"x: &k Service\napiVersion: v1\nkind: *k\nmetadata: {name: a}",
			[]string{"a in line 4"}},
		"a merge for the kind": {"x: &k {apiVersion: v1, kind: Service}\n<<: *k\nmetadata: {name: a}",
			[]string{"a in line 3"}},
		"a name in an alias": {"x: &m {name: a}\napiVersion: v1\nkind: Service\nmetadata: *m",
			[]string{"a in line 1"}},
		"only a scalar": {"Service", nil},
		"nothing":       {"", nil},
		"UTF-16": {"\xFF\xFEa\x00", []string{"error: is UTF-16: save it as UTF-8 " +
			"(PowerShell: Out-File -Encoding utf8)"}},
		"a program": {"\x7fELF\x00\x01", []string{"error: is not text: it contains zero bytes"}},
		"Latin-1": {"a: b\nc: \xe9t\xe9\n", []string{"error: is not UTF-8: line 2 has the " +
			"byte 0xe9"}},
		"a control character":         {"a: \x01\n", []string{"error in line 1"}},
		"an anchor within itself":     {"kind: Service\na: &a [*a]", []string{"error in line 1"}},
		"aliases of aliases":          {laughs(), []string{"error in line 1"}},
		"a long text in many aliases": {longAliases(), []string{"error in line 1"}},
		"YAML that is too deep":       {"kind: Service\na: " + strings.Repeat("[", 20000), []string{"error in line 2"}},
		"deep JSON":                   {strings.Repeat(`{"a":`, 20000), []string{"error in line 1"}},
		"millions of entries": {"[" + strings.Repeat("x,", maxEntries),
			[]string{"error: has more than 2097152 lines, list entries and brackets: split it"}},
		"millions of documents": {strings.Repeat("--- x\n", maxEntries+1),
			[]string{"error: has more than 2097152 lines, list entries and brackets: split it"}},
		"a line with a Unicode blank": {"\u2008 \n---\n" + service("a"), []string{"a in line 5"}},
		"deep Lists":                  {deepLists(1000), nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, where(t, tc.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func laughs() string {
	text := "kind: Service\na0: &a0 ha\n"
	for i := range 30 {
		text += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	return text
}

func longAliases() string {
	return "kind: Service\na: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a,", 1000) + "]\n"
}

func deepLists(n int) string {
	return strings.Repeat(`{"apiVersion":"v1","kind":"List","items":[`, n) + strings.Repeat("]}", n)
}

func TestLines(t *testing.T) {
	text := `apiVersion: v1
kind: Service
metadata:
  name: web
  annotations:
    a.b/c[0].d: |

      x
    twice: "1"
    twice: "2"
spec:
  ports:
  - name: http
    port: 80
  - {name: a,
     port: 81}
`
	chunks := must[[]chunk](t)(split([]byte("# one\n# two\n---\n" + text)))
	docs, errs := parse(chunks[0])
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for path, want := range map[string]int{
		"metadata.name":                    7,
		"metadata.annotations[a.b/c[0].d]": 9,
		"metadata.annotations[twice]":      13,
		"metadata.annotations[missing]":    8,
		"spec.ports[0].name":               16,
		"spec.ports[0].protocol":           16,
		"spec.ports[1].port":               19,
		"spec.ports[7].port":               15,
		"spec.type":                        14,
		"status.x":                         4,
		"":                                 4,
		"[":                                4,
		"[0]":                              4,
		"..":                               4,
	} {
		if got := docs[0].tree.at(path).line; got != want {
			t.Errorf("%q is in line %d, want %d", path, got, want)
		}
	}
}
