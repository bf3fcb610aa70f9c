package ledger

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "k8s.io/apimachinery/pkg/util/validation"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/validation"
)

// FuzzTrim checks that a trimmed ConfigMap has the same name, version and mux as before, that trimming again changes
// nothing more, and that little is left.
func FuzzTrim(f *testing.F) {
	golden.Seeds(f)
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		f.Fatal(err)
	}
	keys := language.Keys()
	for _, mux := range []string{"svc-mux/mux", "mux", "/", "a/b/c", strings.Repeat("n", 63) + "/" +
		strings.Repeat("m", 63), strings.Repeat("m", 200)} {
		for _, generation := range []string{"7", "", "007", "-1", "9223372036854775807", "99999999999999999999", " 7",
			strings.Repeat("0", 100)} {
			text, err := json.Marshal(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
				Namespace: "svc-mux", Name: "mux-ledger", UID: "u", ResourceVersion: "7", Finalizers: []string{"example.com/keep"},
				Labels:      map[string]string{nameLabel: nameValue, "app.kubernetes.io/component": "port-allocation", "team": "a"},
				Annotations: map[string]string{keys.Mux: mux, keys.Generation: generation, "example.com/note": "x"},
			}})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Add([]byte(`{"metadata":{"labels":{"app.kubernetes.io/component":""},"managedFields":[{}]}}`))

	f.Fuzz(func(t *testing.T, text []byte) {
		whole := &metav1.PartialObjectMetadata{}
		if json.Unmarshal(text, whole) != nil {
			return
		}
		trimmed := whole.DeepCopy()
		Trim(trimmed, keys)
		if diff := cmp.Diff(shownAs(whole, keys), shownAs(trimmed, keys)); diff != "" {
			t.Errorf("it reads as another (-whole +trimmed):\n%s", diff)
		}
		twice := trimmed.DeepCopy()
		Trim(twice, keys)
		if diff := cmp.Diff(trimmed, twice); diff != "" {
			t.Errorf("trimmed twice (-once +twice):\n%s", diff)
		}
		for key, value := range trimmed.Annotations {
			if len(value) > longestKey || key != keys.Mux {
				t.Errorf("it keeps %q: %q", key, value)
			}
		}
	})
}

// shownAs returns all that is read of an object in the cache.
func shownAs(object *metav1.PartialObjectMetadata, keys validation.Keys) string {
	text := fmt.Sprintf("%s/%s %v", object.Namespace, object.Name, versionOf(object))
	mux := object.Annotations[keys.Mux]
	namespace, name, _ := strings.Cut(mux, "/")
	if len(kube.IsDNS1123Label(namespace)) > 0 || len(kube.IsDNS1123Label(name)) > 0 {
		return text // no mux can have such a name
	}
	return text + ", ledger of " + mux
}
