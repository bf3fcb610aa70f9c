package forecast_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

var update = flag.Bool("update", false, "rewrite golden files")

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

// sameText compares a text with a golden file.
func sameText(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-%s +now, -update rewrites it)\n%s", file, diff)
	}
}
