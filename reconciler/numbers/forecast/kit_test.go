package forecast_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

var muxKey = types.NamespacedName{Namespace: "svc-mux", Name: "mux"}

func english(t testing.TB) validation.Language {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, muxKey.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	return language
}

func keyOf(t testing.TB, text string) types.NamespacedName {
	t.Helper()
	namespace, name, found := strings.Cut(text, "/")
	if !found {
		t.Fatalf("%s isn't a namespace and a name", text)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}
}
