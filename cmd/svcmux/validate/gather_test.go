package validate

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGathering(t *testing.T) {
	const chart = "apiVersion: v2\nname: x\n"
	const template = "kind: Service\nmetadata: {name: {{ .Values.name }}}\n"
	tests := map[string]struct {
		files map[string]string
		args  string
		links map[string]string
		want  []string // the remarks, one per line, without the summary
		code  int
	}{
		"directories are read recursively, but only files named like manifests": {
			files: map[string]string{"d/b.yml": badChannel, "d/e/a.yaml": badChannel, "d/c.json": "{}", "d/x.md": badChannel,
				"d/yaml": badChannel},
			args: "-f d", code: 1,
			want: []string{"d/b.yml:8:", "d/e/a.yaml:8:"},
		},
		"a chart's templates are skipped with one remark": {
			files: map[string]string{
				"c/Chart.yaml": chart, "c/templates/a.yaml": template, "c/templates/sub/b.yaml": template,
				"c/templates/plain.yaml": badChannel, "c/values.yaml": "{}",
			},
			args: "-f .", code: 1,
			want: []string{"c/templates/plain.yaml:8:",
				"c/templates: 2 templates skipped, Helm has to render it first: helm template c |"},
		},
		"a chart in a chart has a separate remark": {
			files: map[string]string{
				"c/Chart.yaml": chart, "c/templates/a.yaml": template,
				"c/charts/d/Chart.yaml": chart, "c/charts/d/templates/a.yaml": template,
			},
			args: "-f c",
			want: []string{"c/charts/d/templates: 1 template skipped,", "c/templates: 1 template skipped,"},
		},
		"the templates folder is named": {
			files: map[string]string{"c/Chart.yaml": chart, "c/templates/a.yaml": template},
			args:  "-f c/templates",
			want:  []string{"c/templates: 1 template skipped,"},
		},
		"a single template is named": {
			files: map[string]string{"c/Chart.yaml": chart, "c/templates/a.yaml": template},
			args:  "-f c/templates/a.yaml",
			want:  []string{"c/templates: 1 template skipped,"},
		},
		"a template outside of a chart isn't reported as broken YAML": {
			files: map[string]string{"templates/a.yaml": template},
			args:  "-f .", code: 2,
			want: []string{"svcmux validate: templates/a.yaml:"},
		},
		"a template in a chart, outside of its templates folder": {
			files: map[string]string{"c/Chart.yaml": "name: x", "c/crds/a.yaml": template},
			args:  "-f c", code: 2,
			want: []string{"svcmux validate: c/crds/a.yaml:"},
		},
		"links to files are read, links to directories are reported": {
			files: map[string]string{"d/x.txt": "", "real/a.yaml": badChannel},
			links: map[string]string{"d/link.yaml": "../real/a.yaml", "d/dir": "../real"},
			args:  "-f d", code: 1,
			want: []string{"d/link.yaml:8:", "d/dir: is a link to a directory"},
		},
		"a named link is followed": {
			files: map[string]string{"real/a.yaml": badChannel},
			links: map[string]string{"dir": "real"},
			args:  "-f dir", code: 1,
			want: []string{"dir/a.yaml:8:"},
		},
		"a broken link is reported": {
			files: map[string]string{"d/a.yaml": goodChannel},
			links: map[string]string{"d/b.yaml": "nowhere"},
			args:  "-f d", code: 2,
			want: []string{"svcmux validate: d/b.yaml: can't be read: no such file or directory"},
		},
		"a link to a special file is reported, not read": {
			files: map[string]string{"d/bad.yaml": badChannel},
			links: map[string]string{"d/endless.yaml": "/dev/zero"},
			args:  "-f d", code: 1,
			want: []string{"d/bad.yaml:8:", "d/endless.yaml: is a link to no file"},
		},
		"names with terminal escapes": {
			files: map[string]string{"d/\x1b[31m\n.yaml": badChannel},
			args:  "-f d", code: 1,
			want: []string{`"d/\x1b[31m\n.yaml":8:`},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inFolder(t, tc.files)
			for link, target := range tc.links {
				if err := os.Symlink(target, link); err != nil {
					t.Fatal(err)
				}
			}
			got := svcmux("", nil, strings.Fields(tc.args)...)
			lines := strings.Split(strings.TrimSuffix(got.Stderr+got.Stdout, "\n"), "\n")
			lines = lines[:len(lines)-1]
			for i := range lines {
				if i < len(tc.want) && strings.HasPrefix(lines[i], tc.want[i]) {
					lines[i] = tc.want[i]
				}
			}
			if diff := cmp.Diff(tc.want, lines); diff != "" || got.Code != tc.code {
				t.Errorf("code %d, want %d (-want +got):\n%s", got.Code, tc.code, diff)
			}
		})
	}
}

func TestInsideOfTemplates(t *testing.T) {
	inFolder(t, map[string]string{"c/Chart.yaml": "name: x", "c/templates/a.yaml": "a: {{ .b }}"})
	t.Chdir("c/templates")
	got := svcmux("", nil, "-f", ".")
	if want := "../templates: 1 template skipped, Helm has to render it first: helm template .. |"; got.Code != exitFine ||
		!strings.HasPrefix(got.Stdout, want) {
		t.Errorf("got %+v, want %s", got, want)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestEndlessFileIsRefused(t *testing.T) {
	if _, err := readAll(endless{}); err == nil || !strings.Contains(err.Error(), "is larger than 64 MiB") {
		t.Errorf("got %v", err)
	}
}
