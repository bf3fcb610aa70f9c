package main

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"nowake.ai/svc-lb-mux/validation"
)

// validate gathers files, judges the Services in them, and prints a report.
func validate(args []string, w world) int {
	opts := newOptions(w.getenv)
	err := opts.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(w.stdout, validateUsage)
		return exitFine
	}
	var lang validation.Language
	if err == nil {
		lang, err = opts.check()
	}
	if err != nil {
		fmt.Fprintf(w.stderr, "svcmux validate: %v (svcmux validate -h lists the flags)\n", err)
		return exitUsage
	}
	rep := judgeFiles(lang, opts, w.stdin)
	for _, u := range rep.Unreadable {
		fmt.Fprintf(w.stderr, "svcmux validate: %s%s\n", u.place(), u.Message)
	}
	if err := printers()[opts.output](rep, w.stdout); err != nil {
		fmt.Fprintf(w.stderr, "svcmux validate: the report couldn't be written: %v\n", err)
		return exitUsage
	}
	return rep.exitCode(opts.strict)
}

// judgeFiles reads and judges the files that the options name.
func judgeFiles(lang validation.Language, opts options, stdin io.Reader) *report {
	rep := &report{prefix: lang.Prefix(), strict: opts.strict}
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
