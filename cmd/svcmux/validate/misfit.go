package validate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	kubejson "k8s.io/apimachinery/pkg/util/json"
)

// undecodable rewrites the decoder's error for users: in terms of YAML instead of Go types, and with the full path,
// list indexes included.
func (o object) undecodable(err error, into any) error {
	path, err := findMisfit(o.fields, reflect.TypeOf(into), "", err)
	line := o.at.at(path).line
	var wrong *json.UnmarshalTypeError
	if path == "" || !errors.As(err, &wrong) {
		return errAt{line, "can't be read: " + err.Error()}
	}
	return errAt{line, fmt.Sprintf("can't be read: %s: %s where Kubernetes wants %s", printable(path), wrong.Value,
		wanted(wrong.Type))}
}

// findMisfit searches a value that doesn't fit its type for the innermost part that doesn't fit. It returns that part's
// path and error.
func findMisfit(value any, want reflect.Type, path string, why error) (string, error) {
	for want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	if list, isList := value.([]any); isList && want.Kind() == reflect.Slice {
		for i, item := range list {
			if err := tryDecode(item, want.Elem()); err != nil {
				return findMisfit(item, want.Elem(), path+"["+strconv.Itoa(i)+"]", err)
			}
		}
	}
	fields, _ := value.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		below := typeBelow(want, key)
		if below == nil {
			continue
		}
		if err := tryDecode(fields[key], below); err != nil {
			return findMisfit(fields[key], below, pathTo(path, key), err)
		}
	}
	return path, why
}

// tryDecode decodes a part as the whole object is decoded: field names are case-sensitive.
func tryDecode(value any, want reflect.Type) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return kubejson.Unmarshal(data, reflect.New(want).Interface())
}

// typeBelow returns the type of a key's value, or nil if the type has no such key.
func typeBelow(in reflect.Type, key string) reflect.Type {
	if in.Kind() == reflect.Map {
		return in.Elem()
	}
	if name, below := fieldLike(in, key); name == key {
		return below
	}
	return nil
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "fields (key: value)"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	}
	return t.String()
}
