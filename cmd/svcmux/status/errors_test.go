package status

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
)

func TestClustersThatDoNotAnswer(t *testing.T) {
	nobody := looktest.Kubeconfig(t, "http://127.0.0.1:1")
	for name, tc := range map[string]struct {
		kubeconfig string
		args       []string
		code       int
		err        string
	}{
		"no cluster there": {nobody, nil, cli.ExitFailed, "the API server http://127.0.0.1:1 can't be reached: "},
		"a wrong context": {nobody, []string{"--context", "works"}, cli.ExitUsage,
			"--context works: the kubeconfig has no such context: did you mean work?"},
		"no kubeconfig":     {filepath.Join(t.TempDir(), "none"), nil, cli.ExitFailed, "the kubeconfig can't be "},
		"a selector's typo": {nobody, []string{"-l", "!!"}, cli.ExitUsage, "-l !!: "},
		"a bad prefix": {nobody, []string{"--prefix", "Not A Prefix"}, cli.ExitUsage,
			"prefix \"Not A Prefix\" is not a DNS name"},
	} {
		got := looktest.RunAt(t, Command, tc.kubeconfig, "", tc.args...)
		if got.Code != tc.code || !strings.HasPrefix(got.Err, tc.err) || got.Out != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// broken is a pipe whose reader has ended.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestClosedPipeIsAnError(t *testing.T) {
	kubeconfig, _ := looktest.Load(t, looktest.Worlds+"/healthy.yaml").Serve(t)
	cmd := Command(cli.Env{Out: broken{}, Err: &strings.Builder{}, Getenv: func(string) string { return "" }})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"--kubeconfig", kubeconfig})
	err := cmd.ExecuteContext(t.Context())
	if !errors.Is(err, os.ErrClosed) || !strings.HasPrefix(err.Error(), "the output couldn't be written: ") {
		t.Errorf("got %v", err)
	}
}

func TestSettingsOfTheClusterAreFound(t *testing.T) {
	text, err := os.ReadFile(looktest.Worlds + "/healthy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "world.yaml")
	world := strings.ReplaceAll(string(text), "--api-prefix=svc-mux.nowake.ai", "--api-prefix=mux.example.com")
	world = strings.NewReplacer("svc-mux.nowake.ai/", "mux.example.com/").Replace(world)
	if err := os.WriteFile(path, []byte("# unattended\n"+world), 0o644); err != nil {
		t.Fatal(err)
	}
	kubeconfig, _ := looktest.Load(t, path).Serve(t)
	for args, want := range map[string]string{
		"-o name":                            "svc-mux/mux\n",
		"-o name --prefix svc-mux.nowake.ai": "",
	} {
		if got := looktest.RunAt(t, Command, kubeconfig, "", strings.Fields(args)...); got.Out != want {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

func TestMuxesAreCompleted(t *testing.T) {
	kubeconfig, _ := looktest.Load(t, looktest.Worlds+"/several.yaml").Serve(t)
	root := Command(cli.Env{Getenv: func(string) string { return "" }})
	if err := root.ParseFlags([]string{"--kubeconfig", kubeconfig}); err != nil {
		t.Fatal(err)
	}
	root.SetContext(t.Context())
	got, _ := root.ValidArgsFunction(root, nil, "e")
	if len(got) != 1 || got[0] != "edge/other" {
		t.Errorf("got %q", got)
	}
	if more, _ := root.ValidArgsFunction(root, []string{"edge/other"}, ""); len(more) != 0 {
		t.Errorf("a second argument is completed: %q", more)
	}
}

// TestPrefixOfNobodyTakesNoSettings has a reconciler of the default prefix. With the prefix of another one, its default
// mux namespace doesn't count: a class without a namespace then names a mux in svc-mux.
func TestPrefixOfNobodyTakesNoSettings(t *testing.T) {
	const world = `
kind: Deployment
metadata: {namespace: infra, name: svc-mux, labels: {app.kubernetes.io/name: svc-mux}}
spec: {template: {spec: {containers: [{name: reconciler,
  args: [--api-prefix=svc-mux.nowake.ai, --default-mux-namespace=infra]}]}}}
---
kind: Service
metadata: {namespace: shop, name: web}
spec: {type: LoadBalancer, loadBalancerClass: mux.example.org/edge, ports: [{name: http, port: 80, protocol: TCP}]}
`
	path := filepath.Join(t.TempDir(), "world.yaml")
	if err := os.WriteFile(path, []byte("# unattended\n"+world), 0o644); err != nil {
		t.Fatal(err)
	}
	kubeconfig, _ := looktest.Load(t, path).Serve(t)
	const remark = "No reconciler of prefix mux.example.org was found: nobody carries its changes out, and defaults " +
		"replace its settings. There are reconcilers of svc-mux.nowake.ai.\n"
	if got := looktest.RunAt(t, Command, kubeconfig, "", "-o", "name", "--prefix",
		"mux.example.org"); got.Out != "svc-mux/edge\n" || got.Err != remark {
		t.Errorf("%+v", got)
	}
}
