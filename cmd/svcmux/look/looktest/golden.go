package looktest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/cli/clitest"
	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

// Worlds is the folder of the clusters, seen from the package of a command.
const Worlds = "../look/looktest/testdata"

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

// Stories runs the command lines of testdata/stories.txtar, and compares what they print. Files of the archive whose
// names end in .yaml are in the folder of the command. Every other file is a story: first its settings, then its
// command line and output. The settings are:
//
//	cluster    a file of Worlds, without .yaml
//	forbidden  what the user may not list
//	columns    the width of the terminal
func Stories(t *testing.T, command func(cli.Env) *cobra.Command) {
	t.Helper()
	archive := golden.Read(t, "testdata/stories.txtar")
	for _, name := range archive.Sections() {
		if filepath.Ext(name) != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			text, settings, args := "", map[string]string{}, []string{}
			for line := range strings.Lines(archive.Section(name)) {
				text += line
				if strings.HasPrefix(line, "$ ") {
					_, after, _ := strings.Cut(line, " "+command(cli.Env{Getenv: os.Getenv}).Name())
					args = strings.Fields(after)
					break
				}
				setting, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				settings[setting] = value
			}
			var got clitest.Result
			if cluster := settings["cluster"]; cluster == "" {
				t.Chdir(archive.Extract(t, ".yaml"))
				got = clitest.Run(t, command, "", args...)
			} else {
				kubeconfig, _ := Load(t, filepath.Join(Worlds, cluster+".yaml")).Serve(t, strings.Fields(settings["forbidden"])...)
				t.Chdir(archive.Extract(t, ".yaml"))
				got = RunAt(t, command, kubeconfig, settings["columns"], args...)
			}
			text += got.Err + got.Out
			if got.Code != 0 {
				text = fmt.Sprintf("%s\nexit code %d\n", strings.TrimSuffix(text, "\n"), got.Code)
			}
			archive.Compare(t, name, text)
		})
	}
}
