package validate

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/validation"
)

// Run gathers files, judges the Services in them, and prints a report.
func Run(args []string, env cli.Env) int {
	opts := newOptions(env)
	err := opts.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(env.Out, usage(env.Program))
		return exitFine
	}
	var lang validation.Language
	if err == nil {
		lang, err = opts.check()
	}
	if err != nil {
		fmt.Fprintf(env.Err, "%[1]s validate: %[2]v (%[1]s validate -h lists the flags)\n", env.Program, err)
		return exitUsage
	}
	rep := judgeFiles(lang, opts, env.In)
	for _, u := range rep.Unreadable {
		fmt.Fprintf(env.Err, "%s validate: %s%s\n", env.Program, u.place(), u.Message)
	}
	if err := printers()[opts.output](rep, env.Out); err != nil {
		fmt.Fprintf(env.Err, "%s validate: the report couldn't be written: %v\n", env.Program, err)
		return exitUsage
	}
	return rep.exitCode(opts.strict)
}

// judgeFiles reads and judges the files that the options name.
func judgeFiles(lang validation.Language, opts options, stdin io.Reader) *report {
	rep := &report{prefix: lang.Prefix(), strict: opts.strict, program: opts.program, version: opts.version}
	j := judge{lang: lang, namespace: opts.namespace, rep: rep}
	charts := newCharts()
	for _, file := range gather(opts.files, rep) {
		data, err := file.read(stdin)
		if err != nil {
			rep.unreadable(file.name, 0, err.Error())
			continue
		}
		rep.Files++
		if charts.isTemplate(file, data) {
			continue
		}
		j.file(file.name, data)
	}
	charts.reportSkipped(rep)
	rep.sort()
	return rep
}
