package api

import (
	"encoding/json"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patch patches an object or its status.
func (s *Server) Patch(kind Kind, key types.NamespacedName, how types.PatchType, patch []byte,
	status bool) (client.Object, error) {
	before := s.objects[kind][key]
	if before == nil {
		return nil, apierrors.NewNotFound(kind.Resource(), key.Name)
	}
	after, err := patched(before, how, patch)
	if err != nil {
		return nil, err
	}
	if after.GetName() != before.GetName() || after.GetNamespace() != before.GetNamespace() {
		return nil, apierrors.NewBadRequest("the name of the object doesn't match the name on the URL")
	}
	return s.replace(kind, key, before, after, status)
}

// DryRun answers a patch as Patch does, and stores nothing.
func (s *Server) DryRun(kind Kind, key types.NamespacedName, how types.PatchType, patch []byte) (client.Object, error) {
	numbers, version, object, log := s.numbers.clone(), s.version, s.objects[kind][key], len(s.log)
	answer, err := s.Patch(kind, key, how, patch, false)
	s.numbers, s.version, s.log = numbers, version, s.log[:log]
	if object != nil {
		s.objects[kind][key] = object
	}
	return answer, err
}

func patched(before client.Object, how types.PatchType, patch []byte) (client.Object, error) {
	document, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	after := reflect.New(reflect.TypeOf(before).Elem()).Interface().(client.Object)
	switch how {
	case types.MergePatchType:
		document, err = mergeJSON(document, patch)
	case types.StrategicMergePatchType:
		document, err = strategicpatch.StrategicMergePatch(document, patch, after)
	default:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("patches of type %s aren't known here", how))
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err := json.Unmarshal(document, after); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return after, nil
}

// mergeJSON applies a JSON merge patch (RFC 7386).
func mergeJSON(document, patch []byte) ([]byte, error) {
	var is, change any
	if err := json.Unmarshal(document, &is); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(patch, &change); err != nil {
		return nil, err
	}
	return json.Marshal(merge(is, change))
}

func merge(is, change any) any {
	changes, deep := change.(map[string]any)
	if !deep {
		return change
	}
	fields, were := is.(map[string]any)
	if !were {
		fields = map[string]any{}
	}
	for key, value := range changes {
		if value == nil {
			delete(fields, key)
			continue
		}
		fields[key] = merge(fields[key], value)
	}
	return fields
}
