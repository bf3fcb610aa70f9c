package validate

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/test/corpus"
	"nowake.ai/svc-lb-mux/validation"
)

// TestCorpus writes every Service of the corpus to files, as YAML documents and as a List in JSON, and compares the
// findings with the corpus. A file has no old object, so problems that an update would tolerate count here.
func TestCorpus(t *testing.T) {
	cases := must[[]corpus.Case](t)(corpus.Load())
	lang := must[validation.Language](t)(corpus.Language())
	for name, write := range map[string]func(*testing.T, []corpus.Case) string{"c.yaml": asYAML, "c.json": asJSON} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, []byte(write(t, cases)), 0o600); err != nil {
				t.Fatal(err)
			}
			rep := judgeFiles(lang, options{files: []string{path}, namespace: "default"}, nil)
			if len(rep.Unreadable) > 0 || rep.Muxes+rep.Channels+rep.Others != len(cases) {
				t.Errorf("%d Services of %d, unreadable: %+v", rep.Muxes+rep.Channels+rep.Others, len(cases), rep.Unreadable)
			}
			said := map[string][]finding{}
			for _, f := range rep.Findings {
				key := f.Namespace + "/" + f.Name
				said[key] = append(said[key], f)
			}
			for _, c := range cases {
				found := said[c.Service.Namespace+"/"+c.Service.Name]
				warn := slices.Concat(c.Warn, corpus.Of(lang.Typos(c.Service)))
				compare(t, c.Name()+", problems", slices.Concat(c.Deny, c.Tolerated), found, problem)
				compare(t, c.Name()+", warnings", warn, found, warning)
			}
		})
	}
}

func compare(t *testing.T, what string, want []corpus.Expect, found []finding, s severity) {
	t.Helper()
	var got []corpus.Expect
	for _, f := range found {
		if f.Severity == s {
			got = append(got, corpus.Expect{Reason: f.Reason, Field: f.Field})
		}
		if f.Line == 0 {
			t.Errorf("%s: %s has no line number", what, f.Field)
		}
	}
	slices.SortFunc(want, corpus.Expect.Compare)
	slices.SortFunc(got, corpus.Expect.Compare)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func asYAML(t *testing.T, cases []corpus.Case) string {
	t.Helper()
	var b strings.Builder
	for _, c := range cases {
		fmt.Fprintf(&b, "--- # %s\n%s", c.File, must[[]byte](t)(yaml.Marshal(c.Service)))
	}
	return b.String()
}

func asJSON(t *testing.T, cases []corpus.Case) string {
	t.Helper()
	var items []*corev1.Service
	for _, c := range cases {
		items = append(items, c.Service)
	}
	list := map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
	return string(must[[]byte](t)(json.MarshalIndent(list, "", " ")))
}
