package validate

import (
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/validation"
)

// FuzzSARIF reads any input as a file of any name. The JSON output is valid JSON, and the SARIF output is valid for the
// standard and for code scanning. Each finding is there with its rule and line, and its URI leads to the file.
func FuzzSARIF(f *testing.F) {
	golden.Seeds(f)
	for name, text := range map[string]string{
		"a.yaml": badChannel, "dir/b c.yaml": warnedChannel + "---\n" + badChannel, "/abs/50%.yml": stranger,
		"a:b.json":          "{\"kind\": \"Service\" 1}\n{x",
		"../\x1b[31m#?.yml": "a: &a [*a]", "\xff.yaml": "<<: *x",
		stdinName: strings.ReplaceAll(badChannel, "web", "\\u0000\xff\u2028"), "//host/x": "\t",
		"": "kind: Service\napiVersion: v1\nmetadata: {annotations: {a: [1], b: yes}, name: \"\\e</script>\"}\nspec: " +
			"{Ports: 1}\n",
	} {
		f.Add(name, []byte(text))
	}
	lang, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		f.Fatal(err)
	}
	all, err := chapters()
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range all {
		for i, r := range c.Rules {
			// the constant texts would slow the test down
			c.Rules[i] = rule{Reason: r.Reason, Severity: r.Severity, Examples: make([]example, 1)}
		}
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if name != stdinName {
			name = filepath.Clean(name) // as gather does
		}
		rep := &report{prefix: lang.Prefix(), Files: 1}
		judge{lang: lang, namespace: "default", rep: rep}.file(name, data)
		rep.skip(name, "is passed over")
		rep.sort()
		var plain struct{ Findings, Unreadable, Skipped []node }
		printed(t, rep, printJSON, &plain)
		if len(plain.Findings) != len(rep.Findings) || len(plain.Unreadable) != len(rep.Unreadable) ||
			len(plain.Skipped) != 1 {
			t.Errorf("JSON has %d, %d, %d of %d, %d, 1 entries", len(plain.Findings), len(plain.Unreadable), len(plain.Skipped),
				len(rep.Findings), len(rep.Unreadable))
		}
		var log node
		printed(t, rep, func(rep *report, to io.Writer) error { return encode(to, sarifOf(rep, rulesFor(rep, all))) }, &log)
		run := list(t, log, "runs")[0]
		invocation := list(t, run, "invocations")[0]
		if invocation["executionSuccessful"] != (len(rep.Unreadable) == 0) {
			t.Errorf("successful: %v, unreadable: %v", invocation["executionSuccessful"], rep.Unreadable)
		}
		var want, got []string
		for _, f := range rep.Findings {
			want = append(want, string(f.Reason)+" "+
				strings.ToValidUTF8(objectName(f.Namespace, f.Name)+": "+withField(f), "\ufffd"))
		}
		rules := list(t, below(t, below(t, run, "tool"), "driver"), "rules")
		for _, result := range list(t, run, "results") {
			got = append(got, text(result, "ruleId")+" "+text(below(t, result, "message"), "text"))
			if index, _ := result["ruleIndex"].(float64); rules[int(index)]["id"] != result["ruleId"] {
				t.Errorf("rule %v isn't at its index %v", result["ruleId"], index)
			}
			checkPlaced(t, result, name, true)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-found +printed)\n%s", diff)
		}
		notifications := list(t, invocation, "toolExecutionNotifications")
		if len(notifications) != len(rep.Unreadable)+1 {
			t.Errorf("%d remarks, but %d notifications", len(rep.Unreadable)+1, len(notifications))
		}
		for _, notification := range notifications {
			checkPlaced(t, notification, name, false)
		}
	})
}

// rulesFor returns the rules of a report's findings, and the first rule of each chapter. To print and read all rules
// takes most of the time.
func rulesFor(rep *report, all []chapter) []chapter {
	found := map[validation.Reason]bool{}
	for i := range rep.Findings {
		found[rep.Findings[i].Reason] = true
	}
	var some []chapter
	for _, c := range all {
		part := chapter{Title: c.Title}
		for i, r := range c.Rules {
			if i == 0 || found[r.Reason] {
				part.Rules = append(part.Rules, r)
			}
		}
		some = append(some, part)
	}
	return some
}

// printed prints a report and decodes it, as its reader does.
func printed(t *testing.T, rep *report, print printer, into any) {
	t.Helper()
	var b bytes.Buffer
	if err := print(rep, &b); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Bytes(), into); err != nil {
		t.Fatalf("the output isn't JSON: %v: %q", err, b.String())
	}
}

// checkPlaced checks that a result has a message, and one location in this file.
func checkPlaced(t *testing.T, n node, name string, hasLine bool) {
	t.Helper()
	checkLevel(t, n)
	if text(below(t, n, "message"), "text") == "" {
		t.Errorf("no message: %v", n)
	}
	locations := list(t, n, "locations")
	if len(locations) != 1 {
		t.Fatalf("a result has %d locations: %v", len(locations), n)
	}
	physical := below(t, locations[0], "physicalLocation")
	address := text(below(t, physical, "artifactLocation"), "uri")
	parsed, err := url.Parse(address)
	switch {
	case err != nil || parsed.Host != "" || parsed.RawQuery != "" || parsed.Fragment != "" || parsed.Scheme != "" &&
		parsed.Scheme != "file":
		t.Errorf("%q has the URI %q: %v", name, address, err)
	case name == stdinName && address != "stdin", name != stdinName && filepath.Clean(parsed.Path) != name:
		t.Errorf("%q has the URI %q, which is the one of %q", name, address, parsed.Path)
	}
	if region, set := physical["region"].(map[string]any); set || hasLine {
		if line, _ := region["startLine"].(float64); line < 1 || line != float64(int(line)) {
			t.Errorf("line %v in %v", region["startLine"], n)
		}
	}
}
