package snapshot

import (
	"encoding/json"
	"strings"

	"nowake.ai/svc-lb-mux/cmd/svcmux/archive"
)

// pick keeps the fields with these paths, such as spec.containers.image. A path goes on in each element of a list.
func pick(object archive.Object, paths ...string) archive.Object {
	wanted := [][]string{{"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "namespace"}}
	for _, path := range paths {
		wanted = append(wanted, strings.Split(path, "."))
	}
	picked, _ := pickFrom(map[string]any(object), wanted).(map[string]any)
	return picked
}

func pickFrom(value any, paths [][]string) any {
	switch value := value.(type) {
	case []any:
		var picked []any
		for _, element := range value {
			picked = append(picked, pickFrom(element, paths))
		}
		return picked
	case map[string]any:
		below := map[string][][]string{}
		for _, path := range paths {
			below[path[0]] = append(below[path[0]], path[1:])
		}
		picked := map[string]any{}
		for name, rest := range below {
			switch inner, is := value[name]; {
			case !is:
			case len(rest[0]) == 0:
				picked[name] = inner
			default:
				picked[name] = pickFrom(inner, rest)
			}
		}
		return picked
	}
	return value
}

// as returns an object as its Go type.
func as[T any](object archive.Object) *T {
	typed := new(T)
	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, typed)
	}
	if err != nil {
		return new(T) // an object of another release of the API
	}
	return typed
}

// fieldsOf returns a Go value as an object of the same kind as another.
func fieldsOf(value any, like archive.Object) archive.Object {
	fields := archive.Object{}
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		return like
	}
	fields["apiVersion"], fields["kind"] = like["apiVersion"], like["kind"]
	return fields
}
