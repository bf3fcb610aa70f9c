package validate

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

const (
	goodChannel = `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  type: LoadBalancer
  loadBalancerClass: svc-mux.nowake.ai/mux
  allocateLoadBalancerNodePorts: false
  ports: [{name: http, port: 80}]
`
	warnedChannel = `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  type: LoadBalancer
  loadBalancerClass: svc-mux.nowake.ai/mux
  ports: [{name: http, port: 80}]
`
	badChannel = `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  type: LoadBalancer
  loadBalancerClass: svc-mux.nowake.ai/mux
  allocateLoadBalancerNodePorts: false
  ports: [{port: 80}]
`
	stranger = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n"
)

func TestGoldenOutputs(t *testing.T) {
	for _, format := range []string{"text", "json", "sarif", "github"} {
		t.Run(format, func(t *testing.T) {
			outputs := golden.Read(t, "testdata/outputs.txtar")
			t.Chdir("testdata/tree")
			got := svcmux("", nil, "-f", ".", "-o", format)
			if got.Code != exitUsage {
				t.Errorf("exit code %d, want %d: a file is unreadable", got.Code, exitUsage)
			}
			outputs.Compare(t, format, got.Stdout)
			outputs.Compare(t, "stderr", got.Stderr)
		})
	}
}

func TestExitCodes(t *testing.T) {
	const (
		empty = "# nothing but a comment\n---\n---\n"
		words = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: eighty}]}\n"
	)
	tests := map[string]struct {
		files map[string]string
		stdin string
		env   map[string]string
		args  string
		code  int
		says  string // in stdout or stderr
	}{
		"a valid channel succeeds": {stdin: goodChannel, args: "-f -", says: "1 channel, 0 others: 0 problems, " +
			"0 warnings"},
		"a warning succeeds": {stdin: warnedChannel, args: "-f -", says: "1 warning"},
		"a warning fails with --strict": {stdin: warnedChannel, args: "-f - --strict", code: 1,
			says: "count as problems"},
		"a warning fails with its other flag": {stdin: warnedChannel, args: "-f - --warnings-as-errors", code: 1,
			says: "count as problems"},
		"a valid channel with --strict": {stdin: goodChannel, args: "-f - --strict"},
		"a problem fails": {stdin: badChannel, args: "-f -", code: 1,
			says: "<stdin>:8: problem: shop/web: spec.ports[0].name: port 80/TCP has no name"},
		"a stranger isn't judged": {stdin: stranger, args: "-f -",
			says: "no mux or channel under svc-mux.nowake.ai among them"},
		"another prefix makes a stranger": {stdin: badChannel, args: "-f - --prefix mux.example.com",
			says: "no mux or channel under mux.example.com"},
		"the prefix from the environment": {stdin: badChannel, env: map[string]string{"API_PREFIX": "mux.example.com"},
			args: "-f -", says: "under mux.example.com"},
		"the flag overrides the environment": {stdin: badChannel, env: map[string]string{"API_PREFIX": "mux.example.com"},
			args: "-f - --prefix svc-mux.nowake.ai", code: 1},
		"a file without documents succeeds": {files: map[string]string{"a.yaml": empty}, args: "-f a.yaml",
			says: "1 file without a Service"},
		"a named file may have any suffix": {files: map[string]string{"a.txt": badChannel}, args: "-f a.txt", code: 1},
		"a file named twice is judged once": {files: map[string]string{"d/a.yaml": badChannel}, args: "-f d/a.yaml -f d " +
			"-f ./d/../d/a.yaml", code: 1, says: "1 file, 1 Service: 0 muxes, 1 channel, 0 others: 1 problem,"},
		"a missing file doesn't hide others": {
			files: map[string]string{"b.yaml": badChannel}, args: "-f a.yaml -f b.yaml", code: 2, says: "b.yaml:8: problem:",
		},
		"a missing file is reported": {args: "-f a.yaml", code: 2,
			says: "svcmux validate: a.yaml: can't be read: no such file or directory"},
		"an empty pipe fails": {args: "-f -", code: 2, says: "<stdin>: is empty: did the command before " +
			"the pipe fail?"},
		"a directory without files": {files: map[string]string{"d/readme.md": "x"}, args: "-f d", code: 2,
			says: "d: there is no .yaml, .yml or .json file"},
		"a Service with wrong types": {stdin: words, args: "-f -", code: 2, says: "<stdin>:4: Service " +
			"default/web can't be read: spec.ports[0].port: string where Kubernetes wants a whole number"},
		"an unreadable Service is counted": {stdin: words, args: "-f -", code: 2,
			says: "1 file, 1 Service: 0 muxes, 0 channels, 0 others, 1 unread: 0 problems, 0 warnings, 1 unreadable"},
		"a tab in a second document": {stdin: "a: b\n---\nc:\n\td: e\n", args: "-f -", code: 2,
			says: "<stdin>:4: can't be read: found character that cannot start any token (this line is indented by a tab"},
		"unreadable text may hide Services": {stdin: "a: [", args: "-f -", code: 2,
			says: "1 file, no Service in the readable part: 0 problems, 0 warnings, 1 unreadable"},
		"valid objects after broken JSON": {stdin: "{x}\n{\"kind\": \"Service\", \"apiVersion\": \"v1\"}\n", args: "-f -",
			code: 2, says: "<stdin>:1: can't be read: invalid character 'x' looking for beginning of object key string " +
				"(reading continues at line 2)"},
		"words after JSON end the reading": {stdin: "{}\nx\n{", args: "-f -", code: 2, says: "<stdin>:2: can't be " +
			"read: invalid character 'x' looking for beginning of value (reading continues at line 3)"},
		"text after broken JSON is lost": {stdin: "{}\nx {}", args: "-f -", code: 2,
			says: "<stdin>:2: can't be read: invalid character 'x' looking for beginning of value (the rest isn't read)"},
		"more broken values than reported": {stdin: strings.Repeat("{x}\n", maxMistakes+8), args: "-f -", code: 2,
			says: "<stdin>:32: can't be read: invalid character 'x' looking for beginning of object key string " +
				"(the rest isn't read)"},
		"JSON without an end": {stdin: "{\"a\": [", args: "-f -", code: 2,
			says: "<stdin>:1: can't be read: the JSON that begins here has no end"},
		"no file at all": {code: 2, says: "no files given: name a file or directory with -f"},
		"an empty name":  {args: "-f=", code: 2, says: `-f "": name a file`},
		"a shell's star after -f": {args: "-f a.yaml b.yaml", code: 2,
			says: `"b.yaml" has no flag in front: write -f for each file`},
		"an unknown flag": {args: "-f - --colour", code: 2, says: "flag provided but not defined: " +
			"-colour"},
		"an unknown format": {args: "-f - -o xml", code: 2,
			says: `-o "xml": use text, json, sarif or github`},
		"an invalid prefix": {args: "-f - --prefix UPPER/", code: 2,
			says: `prefix "UPPER/" is not a DNS name`},
		"an invalid namespace": {args: "-f - -n A", code: 2, says: `-n "A" is not the name of a namespace`},
		"an invalid mux namespace": {args: "-f - --default-mux-namespace A", code: 2,
			says: `default mux namespace "A"`},
		"help succeeds": {args: "-h", says: "Exit codes:"},
		"objects without a namespace get -n": {stdin: strings.Replace(badChannel, ", namespace: shop", "", 1),
			args: "-f - -n team-a", code: 1, says: "team-a/web"},
		"without -n the namespace is default": {stdin: strings.Replace(badChannel, ", namespace: shop", "", 1),
			args: "-f -", code: 1, says: "default/web"},
		"an object's own namespace overrides -n": {stdin: badChannel, args: "-f - -n team-a", code: 1, says: "shop/web"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inFolder(t, tc.files)
			got := svcmux(tc.stdin, tc.env, strings.Fields(tc.args)...)
			if got.Code != tc.code || !strings.Contains(got.Stdout+got.Stderr, tc.says) {
				t.Errorf("got %+v, want code %d and %q", got, tc.code, tc.says)
			}
		})
	}
}

func TestEveryFlagIsInTheUsage(t *testing.T) {
	for _, name := range flagNames() {
		if !regexp.MustCompile("-" + name + `\b`).MatchString(helpText) {
			t.Errorf("-%s isn't in the usage", name)
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestFailedWriteOfTheReportFails(t *testing.T) {
	var stderr strings.Builder
	env := cli.Env{In: strings.NewReader(goodChannel), Out: brokenPipe{}, Err: &stderr, Getenv: func(string) string {
		return ""
	}}
	if code := Run([]string{"-f", "-"}, env); code != exitUsage ||
		!strings.Contains(stderr.String(), "couldn't be written") {
		t.Errorf("got %d, %q", code, &stderr)
	}
}

func TestTheSameFilesGiveTheSameReport(t *testing.T) {
	first := svcmux("", nil, "-f", "testdata/tree", "-o", "json")
	for range 5 {
		again := svcmux("", nil, "-f", "testdata/tree/list.json", "-f", "testdata/tree", "-o", "json")
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatal(diff)
		}
	}
}
