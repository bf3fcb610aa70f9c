package main

import (
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// result is the result of a run of the command line.
type result struct {
	Code     int
	Out, Err string
}

func play(t *testing.T, as, stdin string, args ...string) result {
	t.Helper()
	var out, errs strings.Builder
	code := run(t.Context(), args, cli.Env{
		Program: as, Version: "v1.2.3", In: strings.NewReader(stdin), Out: &out, Err: &errs,
		Getenv: func(string) string { return "" },
	})
	return result{code, out.String(), errs.String()}
}

func TestCommandLines(t *testing.T) {
	tests := map[string]struct {
		args []string
		code int
		out  string // start of standard output
		err  string // start of standard error
	}{
		"no command prints the usage and fails": {code: 2, err: "Usage:\n  svcmux"},
		"help succeeds":                         {args: []string{"help"}, out: "svcmux is the command line"},
		"--help succeeds":                       {args: []string{"--help"}, out: "svcmux is the command line"},
		"help about validate":                   {args: []string{"help", "validate"}, out: "Judge the Services"},
		"help about an unknown command": {args: []string{"help", "validat"}, code: 2,
			err: "svcmux help: unknown command \"validat\": did you mean validate?\n"},
		"help about a command of a group": {args: []string{"help", "import", "tcp-services"}, out: "Turn"},
		"--help of validate":              {args: []string{"validate", "--help"}, out: "Judge the Services"},
		"the version":                     {args: []string{"--version"}, out: "svcmux v1.2.3\n"},
		"a command with a typo": {args: []string{"validat"}, code: 2,
			err: "svcmux: unknown command \"validat\": did you mean validate?\n"},
		"an unknown command": {args: []string{"x"}, code: 2, err: "svcmux: unknown command \"x\": " +
			"svcmux -h lists the commands\n"},
		"an unknown command is escaped": {args: []string{"\x1b[31m"}, code: 2, err: `svcmux: unknown command "\x1b[31m"`},
		"a flag before the command": {args: []string{"-f", "x"}, code: 2,
			err: "svcmux: unknown shorthand flag: 'f' in -f (svcmux -h lists the flags)\n"},
		"an unknown flag of validate": {args: []string{"validate", "--no"}, code: 2,
			err: "svcmux validate: flag provided but not defined: -no (svcmux validate -h"},
		"completion for bash":       {args: []string{"completion", "bash"}, out: "# bash completion"},
		"completion for zsh":        {args: []string{"completion", "zsh"}, out: "#compdef svcmux"},
		"completion for fish":       {args: []string{"completion", "fish"}, out: "# fish completion"},
		"completion for PowerShell": {args: []string{"completion", "powershell"}, out: "# powershell completion"},
		"completion for an unknown shell": {args: []string{"completion", "foo"}, code: 2,
			err: "svcmux completion: unknown command \"foo\": svcmux completion -h lists the commands\n"},
		"completion for no shell": {args: []string{"completion"}, code: 2, err: "Usage:\n  svcmux completion"},
		"completion for two shells": {args: []string{"completion", "bash", "zsh"}, code: 2,
			err: "svcmux completion bash: unexpected argument \"zsh\" ("},
		"flags of validate are completed": {args: []string{"__complete", "validate", "--str"}, out: "--strict\n",
			err: "Completion ended"},
		"formats of validate are completed": {args: []string{"__complete", "validate", "-o", ""},
			out: "text\njson\nsarif\ngithub\n", err: "Completion ended"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := play(t, "svcmux", "", tc.args...)
			if got.Code != tc.code || !strings.HasPrefix(got.Out, tc.out) || !strings.HasPrefix(got.Err, tc.err) ||
				(tc.out == "") != (got.Out == "") || (tc.err == "") != (got.Err == "") {
				t.Errorf("got %+v, want %+v", got, tc)
			}
		})
	}
}

func TestPluginNamesItself(t *testing.T) {
	for arg0, want := range map[string]string{
		"/usr/local/bin/svcmux": "svcmux", "/home/me/.krew/bin/kubectl-svcmux": "kubectl svcmux",
		"kubectl-svcmux.exe": "kubectl svcmux",
	} {
		if got := program(arg0); got != want {
			t.Errorf("program(%q) is %q, want %q", arg0, got, want)
		}
	}
	for _, args := range [][]string{{"--help"}, {"help", "validate"}, {"validate"}, {"validat"}, {"validate", "--no"}} {
		got := play(t, "kubectl svcmux", "", args...)
		for line := range strings.Lines(got.Out + got.Err) {
			if rest := strings.ReplaceAll(line, "kubectl svcmux", ""); strings.Contains(rest, "svcmux ") {
				t.Errorf("%q names the program without kubectl: %s", args, line)
			}
		}
	}
}
