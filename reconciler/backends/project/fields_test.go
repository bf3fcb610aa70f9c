package project_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
)

// TestEveryFieldOfAnEndpointIsCompared changes one field after the other. So it fails if Kubernetes adds a field that
// isn't compared.
func TestEveryFieldOfAnEndpointIsCompared(t *testing.T) {
	for _, path := range fieldsOf(reflect.TypeFor[discoveryv1.Endpoint](), nil) {
		var changed discoveryv1.Endpoint
		field := reflect.ValueOf(&changed).Elem().FieldByIndex(path[:1])
		if field.Kind() == reflect.Pointer && len(path) > 1 {
			field.Set(reflect.New(field.Type().Elem()))
			field = field.Elem()
		}
		if len(path) > 1 {
			field = field.Field(path[1])
		}
		name := fmt.Sprint(reflect.TypeFor[discoveryv1.Endpoint]().Field(path[0]).Name, path[1:])
		fill(field)
		st := &stage{stands: map[string]*discoveryv1.EndpointSlice{}}
		v := podView(t, map[string][]int{"web": {1}}, st)
		st.carryOut(t, project.Decide(v))
		changed.Addresses = append([]string{"10.0.0.1"}, changed.Addresses...)
		v.Sources[0].Endpoints[0] = changed
		for _, slice := range st.stands {
			v.Carried = append(v.Carried, slice)
		}
		if wants := name != "DeprecatedTopology[]"; project.Decide(v).Steps != nil != wants {
			t.Errorf("%s differs, and is written: %t", name, !wants)
		}
	}
}

func fieldsOf(t reflect.Type, within []int) [][]int {
	var all [][]int
	for i := range t.NumField() {
		path, field := append(slices.Clone(within), i), t.Field(i).Type
		if field.Kind() == reflect.Pointer {
			field = field.Elem()
		}
		if field.Kind() == reflect.Struct && within == nil {
			all = append(all, fieldsOf(field, path)...)
			continue
		}
		all = append(all, path)
	}
	return all
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("other")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"other": "other"}))
	case reflect.Struct:
		fill(v.Field(0))
	}
}
