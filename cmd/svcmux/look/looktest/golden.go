package looktest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/cli/clitest"
)

// Worlds is the folder of the clusters, seen from the package of a command.
const Worlds = "../look/looktest/testdata"

// Case is a run whose output is golden.
type Case struct {
	World     string // a file of Worlds, without .yaml
	Args      string
	Forbidden []string
	Columns   string // "" for 80
	Code      int
}

// Run runs a command against a cluster.
func Run(t *testing.T, command func(cli.Env) *cobra.Command, tc Case) clitest.Result {
	t.Helper()
	kubeconfig, _ := Load(t, filepath.Join(Worlds, tc.World+".yaml")).Serve(t, tc.Forbidden...)
	return RunAt(t, command, kubeconfig, tc.Columns, strings.Fields(tc.Args)...)
}

// RunAt runs a command with a kubeconfig.
func RunAt(t *testing.T, command func(cli.Env) *cobra.Command, kubeconfig, columns string,
	args ...string) clitest.Result {
	t.Helper()
	if columns == "" {
		columns = "80"
	}
	with := func(env cli.Env) *cobra.Command {
		env.Now = Now
		env.Getenv = func(name string) string { return map[string]string{"COLUMNS": columns}[name] }
		return command(env)
	}
	return clitest.Run(t, with, "", append([]string{"--kubeconfig", kubeconfig}, args...)...)
}

// Golden compares the output of a run with a file of testdata. The file begins with the command line.
func Golden(t *testing.T, command func(cli.Env) *cobra.Command, name string, tc Case, update bool) {
	t.Helper()
	got := Run(t, command, tc)
	if got.Code != tc.Code {
		t.Errorf("exit code %d, want %d", got.Code, tc.Code)
	}
	text := strings.TrimRight("$ svcmux "+command(cli.Env{Getenv: os.Getenv}).Name()+" "+tc.Args, " ") + "\n" +
		got.Err + got.Out
	path := filepath.Join("testdata", name+".txt")
	if update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got), -update rewrites it:\n%s", path, diff)
	}
}
