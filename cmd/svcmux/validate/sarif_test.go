package validate

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/validation"
)

// node is a JSON object, decoded without our own types.
type node map[string]any

// TestSARIFHasTheRequiredProperties checks the properties that SARIF 2.1.0 requires, and those that code scanning
// requires.
func TestSARIFHasTheRequiredProperties(t *testing.T) {
	got := svcmux("", nil, "-f", "testdata/tree", "-o", "sarif")
	var log node
	if err := json.Unmarshal([]byte(got.Stdout), &log); err != nil {
		t.Fatal(err)
	}
	if log["version"] != "2.1.0" || !strings.Contains(text(log, "$schema"), "sarif-2.1.0") {
		t.Errorf("version %v, schema %v", log["version"], log["$schema"])
	}
	runs := list(t, log, "runs")
	if len(runs) != 1 {
		t.Fatalf("got %d runs", len(runs))
	}
	driver := below(t, below(t, runs[0], "tool"), "driver")
	if text(driver, "name") != "svcmux" {
		t.Errorf("the driver is %v", driver["name"])
	}
	rules := list(t, driver, "rules")
	ids := map[string]bool{}
	for _, r := range rules {
		id := text(r, "id")
		if id == "" || ids[id] {
			t.Errorf("id %q is empty, or not unique", id)
		}
		ids[id] = true
		for _, key := range []string{"shortDescription", "fullDescription", "help"} {
			if text(below(t, r, key), "text") == "" {
				t.Errorf("%s has no %s", id, key)
			}
		}
		checkLevel(t, below(t, r, "defaultConfiguration"))
	}
	results := list(t, runs[0], "results")
	if len(results) == 0 {
		t.Error("the output has no results")
	}
	for _, r := range results {
		index, _ := r["ruleIndex"].(float64)
		if rules[int(index)]["id"] != r["ruleId"] {
			t.Errorf("rule %v isn't at its index %v", r["ruleId"], index)
		}
		checkLevel(t, r)
		checkLocated(t, r, true)
	}
	for _, invocation := range list(t, runs[0], "invocations") {
		if successful, isBool := invocation["executionSuccessful"].(bool); !isBool || successful {
			t.Errorf("executionSuccessful is %v with an unreadable file", invocation["executionSuccessful"])
		}
		for _, n := range list(t, invocation, "toolExecutionNotifications") {
			checkLevel(t, n)
			checkLocated(t, n, false)
		}
	}
}

func checkLevel(t *testing.T, n node) {
	t.Helper()
	if !slices.Contains([]string{"error", "warning", "note", "none"}, text(n, "level")) {
		t.Errorf("level %v", n["level"])
	}
}

func checkLocated(t *testing.T, n node, hasLine bool) {
	t.Helper()
	if text(below(t, n, "message"), "text") == "" {
		t.Errorf("no message: %v", n)
	}
	for _, at := range list(t, n, "locations") {
		physical := below(t, at, "physicalLocation")
		address := text(below(t, physical, "artifactLocation"), "uri")
		if parsed, err := url.Parse(address); err != nil || parsed.Path == "" || parsed.IsAbs() {
			t.Errorf("uri %q: %v", address, err)
		}
		if region, set := physical["region"].(map[string]any); set || hasLine {
			if line, _ := region["startLine"].(float64); line < 1 {
				t.Errorf("line %v in %v", region["startLine"], at)
			}
		}
	}
}

func TestURIs(t *testing.T) {
	for path, want := range map[string]string{
		stdinName:        "stdin",
		"a/b c.yaml":     "a/b%20c.yaml",
		"/a/b.yaml":      "file:///a/b.yaml",
		"50%.yaml":       "50%25.yaml",
		"a:b.yaml":       "./a:b.yaml",
		"\x1b[31m#?.yml": "%1B%5B31m%23%3F.yml",
	} {
		if got := uri(path); got != want {
			t.Errorf("%q is %q, want %q", path, got, want)
		}
	}
}

func TestEveryFindingHasARuleInSARIF(t *testing.T) {
	_, index := sarifRules(must[[]chapter](t)(chapters()))
	for _, reason := range append(reasonsIn(t, "decode.go"), reasonsIn(t, "../../../validation/reasons.go")...) {
		if _, found := index[validation.Reason(reason)]; !found {
			t.Errorf("%s has no rule: its results would appear under another rule", reason)
		}
	}
}

func text(n node, key string) string {
	value, _ := n[key].(string)
	return value
}

func below(t *testing.T, n node, key string) node {
	t.Helper()
	value, ok := n[key].(map[string]any)
	if !ok {
		t.Errorf("%s is missing in %v", key, n)
	}
	return value
}

func list(t *testing.T, n node, key string) []node {
	t.Helper()
	values, ok := n[key].([]any)
	if !ok {
		t.Errorf("%s isn't a list in %v", key, n)
	}
	var nodes []node
	for _, value := range values {
		nodes = append(nodes, value.(map[string]any))
	}
	return nodes
}
