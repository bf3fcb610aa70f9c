package validate

import (
	"cmp"
	"encoding/json"
	"io"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/validation"
)

// Objects are the objects in files, for commands that read files instead of a cluster.
type Objects struct {
	Services   []*corev1.Service
	ConfigMaps []*corev1.ConfigMap
	// Problems are annotations whose value has no quotes, such as 8443. An API server refuses such a Service; here the
	// value becomes text.
	Problems map[*corev1.Service][]validation.Problem
	// Unreadable has a sentence for each file, or part of a file, that can't be read.
	Unreadable []string
	// Incomplete is true if one of these sentences is about a file that was asked for, and not about one that is skipped.
	Incomplete bool
}

// Read reads files and directories as validate does. Objects without a namespace get the given one.
func Read(paths []string, namespace string, stdin io.Reader) Objects {
	rep := &report{program: "svcmux"}
	j := judge{namespace: namespace, rep: rep}
	all := Objects{Problems: map[*corev1.Service][]validation.Problem{}}
	charts := newCharts()
	for _, file := range gather(paths, rep) {
		data, err := file.read(stdin)
		if err != nil {
			rep.unreadable(file.name, 0, err.Error())
			continue
		}
		if charts.isTemplate(file, data) {
			continue
		}
		j.read(file.name, data, &all)
	}
	charts.reportSkipped(rep)
	rep.sort()
	all.Incomplete = len(rep.Unreadable) > 0
	for _, remark := range append(rep.Unreadable, rep.Skipped...) {
		all.Unreadable = append(all.Unreadable, remark.place()+remark.Message)
	}
	return all
}

func (j judge) read(name string, data []byte, all *Objects) {
	chunks, err := split(data)
	if err != nil {
		j.unreadable(name, err)
		return
	}
	for _, c := range chunks {
		docs, errs := parseKinds(c, func(kind string) bool { return mayHold(kind) || kind == kindConfigMap })
		for _, err := range errs {
			j.unreadable(name, j.hinted(err, c, hasTemplate(data)))
		}
		var found finder
		for _, doc := range docs {
			found.find(doc.value, doc.tree, "", "")
		}
		for _, o := range found.services {
			svc := &corev1.Service{}
			found, err := o.decode(svc)
			if err != nil {
				j.unreadable(name, err)
				continue
			}
			svc.Namespace = cmp.Or(svc.Namespace, j.namespace)
			all.Services = append(all.Services, svc)
			if len(found.Problems) > 0 {
				all.Problems[svc] = found.Problems
			}
		}
		for _, o := range found.configMaps {
			if config := j.configMap(name, o); config != nil {
				all.ConfigMaps = append(all.ConfigMaps, config)
			}
		}
	}
}

func (j judge) configMap(file string, o object) *corev1.ConfigMap {
	data, err := json.Marshal(o.fields)
	config := &corev1.ConfigMap{}
	if err == nil {
		err = json.Unmarshal(data, config)
	}
	if err != nil {
		namespace, name := j.nameOf(o)
		j.rep.unreadable(file, o.at.line, "ConfigMap "+objectName(namespace, name)+" can't be read: "+
			cli.Sentence(err.Error()))
		return nil
	}
	config.Namespace = cmp.Or(config.Namespace, j.namespace)
	return config
}
