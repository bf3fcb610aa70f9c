package validate

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// outcome is the result of a run.
type outcome struct {
	Code           int
	Stdout, Stderr string
}

// svcmux runs svcmux validate.
func svcmux(stdin string, env map[string]string, args ...string) outcome {
	var stdout, stderr strings.Builder
	code := Run(args, cli.Env{
		Program: "svcmux", Version: "devel", In: strings.NewReader(stdin), Out: &stdout, Err: &stderr,
		Getenv: func(name string) string { return env[name] },
	})
	return outcome{code, stdout.String(), stderr.String()}
}

// inFolder makes a folder with files the working directory, so that reports name files as users would.
func inFolder(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

func must[T any](t testing.TB) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func flagNames() []string {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	(&options{}).flags(flags)
	var names []string
	flags.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return names
}

func itoa(n int) string { return strconv.Itoa(n) }
