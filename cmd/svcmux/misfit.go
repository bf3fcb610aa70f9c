package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	kubejson "k8s.io/apimachinery/pkg/util/json"
)

// undecodable says in a user's words, and with the path to the value, what the decoder says in Go's and without the
// places in lists.
func (o object) undecodable(err error) error {
	path, err := misfit(o.fields, reflect.TypeFor[corev1.Service](), "", err)
	line := o.at.at(path).line
	var wrong *json.UnmarshalTypeError
	if path == "" || !errors.As(err, &wrong) {
		return errAt{line, "can't be read: " + err.Error()}
	}
	return errAt{line, fmt.Sprintf("can't be read: %s: %s where Kubernetes wants %s", printable(path), wrong.Value,
		wanted(wrong.Type))}
}

// misfit follows a value that doesn't fit its type down to the first part of it that doesn't, and returns where that
// is and why.
func misfit(value any, want reflect.Type, path string, why error) (string, error) {
	for want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	if list, isList := value.([]any); isList && want.Kind() == reflect.Slice {
		for i, item := range list {
			if err := fit(item, want.Elem()); err != nil {
				return misfit(item, want.Elem(), path+"["+strconv.Itoa(i)+"]", err)
			}
		}
	}
	fields, _ := value.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		below := typeBelow(want, key)
		if below == nil {
			continue
		}
		if err := fit(fields[key], below); err != nil {
			return misfit(fields[key], below, pathTo(path, key), err)
		}
	}
	return path, why
}

// fit decodes as the whole is decoded: by the letters of each name.
func fit(value any, want reflect.Type) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return kubejson.Unmarshal(data, reflect.New(want).Interface())
}

// typeBelow returns the type of what a key leads to, nil if it leads nowhere.
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
