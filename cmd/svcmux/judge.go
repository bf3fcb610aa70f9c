package main

import (
	"bytes"
	"cmp"
	"errors"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// judge says of each Service in a file what admission would, and what admission can't see.
type judge struct {
	lang      validation.Language
	namespace string // of objects that name none
	rep       *report
}

func (j judge) file(name string, data []byte) {
	chunks, err := split(data)
	if err != nil {
		j.unreadable(name, err)
		return
	}
	for _, c := range chunks {
		docs, err := parse(c)
		if err != nil {
			j.unreadable(name, hinted(err, data))
		}
		for _, doc := range docs {
			for _, o := range services(doc) {
				j.service(name, o)
			}
		}
	}
}

func (j judge) service(file string, o object) {
	svc, found, err := o.decode()
	if err != nil {
		var at errAt
		errors.As(err, &at)
		at.text = "Service " + j.nameOf(o) + " " + at.text
		j.unreadable(file, at)
		return
	}
	svc.Namespace = cmp.Or(svc.Namespace, j.namespace)
	kind := j.lang.Classify(svc)
	j.rep.counted(kind)
	said := j.lang.Check(svc)
	add := func(severity severity, problems []validation.Problem) {
		for _, p := range problems {
			j.rep.Findings = append(j.rep.Findings, finding{
				Severity: severity, Reason: p.Reason, File: file, Line: o.at.at(p.Field).line,
				Namespace: svc.Namespace, Name: nameOf(svc), Kind: kind.String(),
				Field: p.Field, Port: p.Port, Message: p.Message,
			})
		}
	}
	add(problem, found.Problems)
	add(problem, said.Problems)
	add(warning, found.Warnings)
	add(warning, said.Warnings)
	add(warning, j.lang.Typos(svc))
}

func (j judge) unreadable(file string, err error) {
	var at errAt
	errors.As(err, &at)
	j.rep.unreadable(file, at.line, err.Error())
}

// nameOf returns what an API server would begin a generated name with.
func nameOf(svc *corev1.Service) string {
	if svc.Name == "" && svc.GenerateName != "" {
		return svc.GenerateName + "*"
	}
	return svc.Name
}

// nameOf is for a Service that can't be decoded.
func (j judge) nameOf(o object) string {
	meta, _ := o.fields["metadata"].(map[string]any)
	namespace, _ := meta["namespace"].(string)
	name, _ := meta["name"].(string)
	return objectName(cmp.Or(namespace, j.namespace), name)
}

// hinted adds what the likeliest cause is, where the parser's words don't.
func hinted(err error, data []byte) error {
	var at errAt
	if !errors.As(err, &at) {
		return err
	}
	switch {
	case hasTemplate(data):
		at.text += " (a template? render it first: helm template CHART | svcmux validate -f -)"
	case isIndentedByTab(data, at.line):
		at.text += " (this line is indented by a tab: YAML takes only spaces)"
	}
	return at
}

func isIndentedByTab(data []byte, line int) bool {
	for text := range bytes.Lines(data) {
		if line--; line == 0 {
			indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
			return bytes.IndexByte(indent, '\t') >= 0
		}
	}
	return false
}
