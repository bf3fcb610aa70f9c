// Package validate is `svcmux validate`: it judges the Services in files as admission would, without a cluster. So a
// pull request can be refused before it reaches one.
//
//	options.go   flags, their defaults and checks
//	validate.go  files in, a report out
//	gather.go    finds the files                charts.go    skips Helm templates
//	split.go     splits a file in documents     json.go      splits JSON values in a row
//	parse.go     parses a document              lines.go     finds the line of a field
//	objects.go   finds the Services             decode.go    decodes a Service strictly
//	repeated.go  finds repeated fields          misfit.go    finds values of the wrong type
//	judge.go     the findings of one Service
//	report.go    all findings                   print*.go    text, JSON, SARIF, workflow commands
//	words.go     names and counts in messages
//	rules.go     explains each reason, from rules/*.yaml; docs/rules.md is generated from the same files
//
// It doesn't use cobra's flags: its flags may be written with one dash, and stay as they were before svcmux had other
// commands.
package validate
