package validate

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	strict "k8s.io/apimachinery/pkg/runtime/serializer/json"

	"nowake.ai/svc-lb-mux/validation"
)

// Reasons that only files can have: an API server refuses or drops these mistakes before admission sees them.
const (
	// UnknownField is a field that objects of this kind don't have.
	UnknownField validation.Reason = "UnknownField"
	// RepeatedField is a field that is set more than once.
	RepeatedField validation.Reason = "RepeatedField"
	// UnknownKind is an object with a mistake in its kind or apiVersion, probably meant to be a Service.
	UnknownKind validation.Reason = "UnknownKind"
	// AnnotationNotText is an annotation whose value must be in quotes.
	AnnotationNotText validation.Reason = "AnnotationNotText"
)

// maxMistakes limits the reported mistakes of each sort for one Service.
const maxMistakes = 32

// decode decodes an object into a Service or a route as strictly as an API server, and finds the mistakes that only
// files can have.
func (o object) decode(into runtime.Object) (validation.Findings, error) {
	var found validation.Findings
	found.Problems = o.quoteAnnotations()
	found.Warnings = o.repeated()
	data, err := json.Marshal(o.fields)
	if err != nil {
		return found, errAt{o.at.line, fmt.Sprintf("can't be read: %v", err)}
	}
	nothing := runtime.NewScheme() // an empty scheme: the decoder fills the given object
	decoder := strict.NewSerializerWithOptions(strict.DefaultMetaFactory, nothing, nothing,
		strict.SerializerOptions{Strict: true})
	_, _, err = decoder.Decode(data, nil, into)
	if mistakes, isStrict := runtime.AsStrictDecodingError(err); isStrict {
		found.Warnings = append(found.Warnings, unknownFields(mistakes.Errors(), into)...)
		err = nil
	}
	if err != nil {
		return found, o.undecodable(err, into)
	}
	return found, nil
}

// quoteAnnotations turns annotation values without quotes into text, so that the object can be decoded and judged.
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
		if len(found) < maxMistakes {
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

// unknownFields returns a warning for each field that objects of this kind don't have.
func unknownFields(mistakes []error, of runtime.Object) []validation.Problem {
	kind := reflect.TypeOf(of).Elem()
	var found []validation.Problem
	for _, mistake := range mistakes[:min(len(mistakes), maxMistakes)] {
		quoted, isUnknown := strings.CutPrefix(mistake.Error(), "unknown field ")
		path, err := strconv.Unquote(quoted)
		if !isUnknown || err != nil {
			path = "" // an error of another sort: report its own text
		}
		message := mistake.Error()
		if path != "" {
			message = printable(path) + ": a " + kind.Name() + " has no such field, so it does nothing" + suggestion(kind, path)
		}
		found = append(found, validation.Problem{Reason: UnknownField, Field: path, Value: path, Message: message})
	}
	return found
}

// suggestion returns a hint if a field of the same name in other upper and lower case exists.
func suggestion(at reflect.Type, path string) string {
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
