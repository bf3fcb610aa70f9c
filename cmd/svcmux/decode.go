package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	strict "k8s.io/apimachinery/pkg/runtime/serializer/json"

	"nowake.ai/svc-lb-mux/validation"
)

// What only files show: an API server has refused or dropped it before anyone else looks.
const (
	// UnknownField is a field that no Service has.
	UnknownField validation.Reason = "UnknownField"
	// RepeatedField is a field that is there twice.
	RepeatedField validation.Reason = "RepeatedField"
	// UnknownKind is an object that Kubernetes doesn't know, but for a slip in its kind or version a Service.
	UnknownKind validation.Reason = "UnknownKind"
	// AnnotationNotText is the value of an annotation that lacks its quotes.
	AnnotationNotText validation.Reason = "AnnotationNotText"
)

// maxSlips bounds how many slips of each sort are told of one Service.
const maxSlips = 32

// decode reads a Service as an API server does, letter by letter, and finds what only files show.
func (o object) decode() (*corev1.Service, validation.Findings, error) {
	var found validation.Findings
	found.Problems = o.quoteAnnotations()
	found.Warnings = o.repeated()
	data, err := json.Marshal(o.fields)
	if err != nil {
		return nil, found, errAt{o.at.line, fmt.Sprintf("can't be read: %v", err)}
	}
	svc := &corev1.Service{}
	nothing := runtime.NewScheme() // decodes into what it is given
	decoder := strict.NewSerializerWithOptions(strict.DefaultMetaFactory, nothing, nothing,
		strict.SerializerOptions{Strict: true})
	_, _, err = decoder.Decode(data, nil, svc)
	if slips, isStrict := runtime.AsStrictDecodingError(err); isStrict {
		found.Warnings = append(found.Warnings, unknown(slips.Errors())...)
		err = nil
	}
	if err != nil {
		return nil, found, o.undecodable(err)
	}
	return svc, found, nil
}

// quoteAnnotations puts the quotes around values that lack them, so that they can be judged all the same.
func (o object) quoteAnnotations() []validation.Problem {
	meta, _ := o.fields["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	written := o.at.at("metadata.annotations").scalars()
	var found []validation.Problem
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		value := annotations[key]
		if _, isText := value.(string); isText || value == nil {
			continue
		}
		path := "metadata.annotations[" + key + "]"
		text, isScalar := written[key]
		if !isScalar {
			data, _ := json.Marshal(value)
			text = string(data)
		}
		annotations[key] = text
		if len(found) < maxSlips {
			found = append(found, validation.Problem{
				Reason: AnnotationNotText, Field: path, Value: text,
				Message: fmt.Sprintf("%s: %s is not text: put it in quotes, %s", printable(path), printable(text), shown(text)),
			})
		}
	}
	return found
}

func pathTo(parent, key string) string {
	switch parent {
	case "":
		return key
	case "metadata.annotations", "metadata.labels", "spec.selector":
		return parent + "[" + key + "]"
	}
	return parent + "." + key
}

// unknown tells of fields that no Service has.
func unknown(slips []error) []validation.Problem {
	var found []validation.Problem
	for _, slip := range slips[:min(len(slips), maxSlips)] {
		quoted, isUnknown := strings.CutPrefix(slip.Error(), "unknown field ")
		path, err := strconv.Unquote(quoted)
		if !isUnknown || err != nil {
			path = "" // an error that this build doesn't know: tell it as it is
		}
		message := slip.Error()
		if path != "" {
			message = printable(path) + ": a Service has no such field, so it does nothing" + otherwise(path)
		}
		found = append(found, validation.Problem{Reason: UnknownField, Field: path, Value: path, Message: message})
	}
	return found
}

// otherwise looks for the same name in other letters.
func otherwise(path string) string {
	at := reflect.TypeFor[corev1.Service]()
	for path != "" {
		step, isIndex, rest := firstStep(path)
		for at.Kind() == reflect.Pointer || isIndex && at.Kind() == reflect.Slice {
			at = at.Elem()
		}
		if path = rest; isIndex {
			continue
		}
		name, below := fieldLike(at, step)
		if name == "" || rest == "" {
			if name == "" || name == step {
				return ""
			}
			return ": did you mean " + name + "?"
		}
		at = below
	}
	return ""
}

func fieldLike(in reflect.Type, name string) (string, reflect.Type) {
	if in.Kind() != reflect.Struct {
		return "", nil
	}
	for i := range in.NumField() {
		tag, _, _ := strings.Cut(in.Field(i).Tag.Get("json"), ",")
		if tag != "" && strings.EqualFold(tag, name) {
			return tag, in.Field(i).Type
		}
	}
	return "", nil
}
