package page

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	shown := "service/web created\n"
	for name, tc := range map[string]struct {
		text    string
		want    []Block
		problem string
	}{
		"a block with its mark and its output": {
			"# A\n<!-- test: cluster -->\n```sh\nkubectl apply\n```\n\n<!-- output -->\n```\nservice/web created\n```\n",
			[]Block{{Line: 3, Language: "sh", Mark: "test: cluster", Text: "kubectl apply\n", Output: &shown}}, ""},
		"a mark must stand on the line right before the block": {
			"<!-- test: cluster -->\n\n```sh\nls\n```\n", []Block{{Line: 3, Language: "sh", Text: "ls\n"}}, ""},
		"a mark in a block is text": {
			"````markdown\n<!-- output -->\n```\nx\n```\n````\n",
			[]Block{{Line: 1, Language: "markdown", Text: "<!-- output -->\n```\nx\n```\n"}}, ""},
		"a block in a list": {
			"1. This:\n   <!-- needs: a cloud -->\n   ```sh\n   ls\n   ```\n",
			[]Block{{Line: 3, Language: "sh", Mark: "needs: a cloud", Text: "   ls\n"}}, ""},
		"an output of no block":    {"<!-- output -->\n```\nx\n```\n", nil, "2: this is the output of no sh block"},
		"a block that doesn't end": {"```sh\nls\n", nil, "1: this block has no end"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(tc.text)
			if tc.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tc.problem) {
					t.Errorf("error %v, want %q", err, tc.problem)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	for name, tc := range map[string]struct {
		shown, printed string
		same           bool
	}{
		"alike":                    {"a\n", "a\n", true},
		"columns of another width": {"NAME  AGE\nweb   …\n", "NAME        AGE\nweb         3s\n", true},
		"another word":             {"web created\n", "web configured\n", false},
		"a line more":              {"a\n", "a\nb\n", false},
		"a line less":              {"a\nb\n", "a\n", false},
		"lines of no interest":     {"a\n…\nz\n", "a\nb\nc\nz\n", true},
		"no line of no interest":   {"a\n…\nz\n", "a\nz\n", true},
		"a difference after lines of no interest": {"a\n…\nz\n", "a\nb\ny\n", false},
		"part of a line":                         {"pod web-… is up\n", "pod web-5f-x is up\n", true},
		"a dot is a dot":                         {"203.0.113.1\n", "203x0.113.1\n", false},
		"nothing shown, and something printed":   {"", "x\n", false},
		"a line of its own is no part of a line": {"a …\n", "a b\nc\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Compare(tc.shown, tc.printed); (err == nil) != tc.same {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestIsCommand(t *testing.T) {
	for line, want := range map[string]bool{
		"kubectl get pods": true, "$ ls": true, "  go run ./x": true, "make demo": true, "helm --help": true,
		"service/web created": false, "go.mod": false, "kubectl": false, "maker of things": false, "The kubectl that": false,
	} {
		if got := IsCommand(line); got != want {
			t.Errorf("%q: %t", line, got)
		}
	}
}
