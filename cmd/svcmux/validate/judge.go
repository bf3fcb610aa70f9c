package validate

import (
	"bytes"
	"cmp"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/validation"
)

// judge adds findings to the report: those of admission, and those that only files can have. It judges Services,
// objects that were probably meant to be Services, and routes that ask for a number.
type judge struct {
	lang      validation.Language
	namespace string // for objects without a namespace
	rep       *report
}

func (j judge) file(name string, data []byte) {
	chunks, err := split(data)
	if err != nil {
		j.unreadable(name, err)
		return
	}
	template := hasTemplate(data)
	for _, c := range chunks {
		docs, errs := parse(c)
		for _, err := range errs {
			j.unreadable(name, j.hinted(err, c, template))
		}
		var found finder
		for _, doc := range docs {
			found.find(doc.value, doc.tree, "", "")
		}
		for _, o := range found.services {
			j.service(name, o)
		}
		for _, o := range found.routes {
			j.route(name, o)
		}
		for _, o := range found.nearServices {
			j.nearService(name, o)
		}
	}
}

func (j judge) service(file string, o object) {
	svc := &corev1.Service{}
	found, err := o.decode(svc)
	if err != nil {
		j.undecodable(file, o, err)
		j.rep.Unread++
		return
	}
	svc.Namespace = cmp.Or(svc.Namespace, j.namespace)
	kind := j.lang.Classify(svc)
	j.rep.countKind(kind)
	admission := j.lang.Check(svc)
	add := j.adder(file, o, &svc.ObjectMeta, kind.String())
	add(problem, found.Problems)
	add(problem, admission.Problems)
	add(warning, found.Warnings)
	add(warning, admission.Warnings)
	add(warning, j.lang.Typos(svc))
}

// adder returns a function that adds findings about an object to the report.
func (j judge) adder(file string, o object, meta *metav1.ObjectMeta, kind string) func(severity, []validation.Problem) {
	return func(severity severity, problems []validation.Problem) {
		for _, p := range problems {
			j.rep.Findings = append(j.rep.Findings, finding{
				Severity: severity, Reason: p.Reason, File: file, Line: o.at.at(p.Field).line,
				Namespace: meta.Namespace, Name: nameOf(meta), Kind: kind, Field: p.Field, Port: p.Port, Message: p.Message,
			})
		}
	}
}

// route judges a route that asks for a number. Any other route isn't ours.
func (j judge) route(file string, o object) {
	meta, _ := o.fields["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	if _, asks := annotations[j.lang.Keys().Gateway]; !asks {
		return
	}
	j.rep.Routes++
	kind, _ := o.fields["kind"].(string)
	into := read.NewRoute(kind)
	found, err := o.decode(into)
	if err != nil {
		j.undecodable(file, o, err)
		return
	}
	route, _ := read.RouteOf(into)
	channel, _ := route.Channel(j.lang)
	add := j.adder(file, o, &metav1.ObjectMeta{
		Namespace: cmp.Or(route.Object.GetNamespace(), j.namespace), Name: route.Object.GetName(),
		GenerateName: route.Object.GetGenerateName(),
	}, "route")
	add(problem, found.Problems)
	add(problem, channel.Problems)
	add(warning, found.Warnings)
}

// undecodable reports an object that can't be decoded.
func (j judge) undecodable(file string, o object, err error) {
	var at errAt
	errors.As(err, &at)
	kind, _ := o.fields["kind"].(string)
	namespace, name := j.nameOf(o)
	at.text = kind + " " + objectName(namespace, name) + " " + at.text
	j.unreadable(file, at)
}

func (j judge) nearService(file string, o nearService) {
	namespace, name := j.nameOf(o.object)
	j.rep.Findings = append(j.rep.Findings, finding{
		Severity: warning, Reason: o.mistake.Reason, File: file, Line: o.at.at(o.mistake.Field).line,
		Namespace: namespace, Name: name, Kind: validation.Stranger.String(), Field: o.mistake.Field,
		Message: o.mistake.Message,
	})
}

func (j judge) unreadable(file string, err error) {
	var at errAt
	errors.As(err, &at)
	j.rep.unreadable(file, at.line, err.Error())
}

// nameOf returns the object's name, or the prefix of a generated name with a star.
func nameOf(meta *metav1.ObjectMeta) string {
	if meta.Name == "" && meta.GenerateName != "" {
		return meta.GenerateName + "*"
	}
	return meta.Name
}

// nameOf returns the namespace and name of an object that isn't decoded.
func (j judge) nameOf(o object) (namespace, name string) {
	meta, _ := o.fields["metadata"].(map[string]any)
	namespace, _ = meta["namespace"].(string)
	name, _ = meta["name"].(string)
	return cmp.Or(namespace, j.namespace), name
}

// hinted adds the likely cause to a parser's error.
func (j judge) hinted(err error, c chunk, template bool) error {
	var at errAt
	if !errors.As(err, &at) {
		return err
	}
	switch {
	case template:
		at.text += " (a template? render it first: helm template CHART | " + j.rep.program + " validate -f -)"
	case isIndentedByTab(c.text, at.line-c.line+1):
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
