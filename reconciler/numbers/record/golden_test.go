package record

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

var (
	mux  = types.NamespacedName{Namespace: "svc-mux", Name: "mux"}
	keys = testKeys()
)

func testKeys() validation.Keys {
	language, err := validation.New(validation.DefaultPrefix, mux.Namespace)
	if err != nil {
		panic(err)
	}
	return language.Keys()
}

// TestReadings reads ConfigMaps as the original wrote them, and texts that anybody may have written.
func TestReadings(t *testing.T) {
	var all strings.Builder
	for _, c := range originals(t) {
		printReading(&all, c.name, Decode(c.cm, mux, keys))
	}
	texts := texts(t)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		printReading(&all, name, Decode(withText(texts[name]), mux, keys))
	}
	story(t).Compare(t, "want.txt", all.String())
}

func story(t testing.TB) *golden.Archive { return golden.Read(t, "testdata/readings.txtar") }

// fixture is a ConfigMap. Its name is the comment at its beginning.
type fixture struct {
	name string
	cm   *corev1.ConfigMap
}

func originals(t testing.TB) []fixture {
	var all []fixture
	for _, document := range bytes.Split([]byte(story(t).Section("original.yaml")), []byte("\n---\n")) {
		name, _, _ := strings.Cut(strings.TrimPrefix(string(document), "# "), "\n")
		c := fixture{name, &corev1.ConfigMap{}}
		if err := yaml.UnmarshalStrict(document, c.cm); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, c)
	}
	return all
}

func texts(t testing.TB) map[string]string {
	var all map[string]string
	if err := yaml.UnmarshalStrict([]byte(story(t).Section("texts.yaml")), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// withText returns a ConfigMap that is the mux's, with the text as plain text.
func withText(text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: mux.Namespace, Name: "mux-port-allocations",
			Labels:      map[string]string{nameLabel: nameValue, componentLabel: componentValue},
			Annotations: map[string]string{keys.Mux: mux.String()},
		},
		Data: map[string]string{PlainKey: text},
	}
}

func printReading(w *strings.Builder, name string, reading plan.Reading) {
	fmt.Fprintf(w, "# %s\n%s", name,
		[...]string{"good", "edited", "missing", "unreadable", "foreign", "newer"}[reading.Condition])
	if reading.Unlabelled {
		fmt.Fprint(w, ", without its labels")
	}
	if reading.Why != "" {
		fmt.Fprintf(w, ": %s", reading.Why)
	}
	fmt.Fprintln(w)
	if reading.Condition <= plan.Edited {
		fmt.Fprintf(w, "generation %d of %s\n", reading.Ledger.Generation, reading.Ledger.Mux)
	}
	for _, c := range reading.Ledger.Claims {
		fmt.Fprintf(w, "%d/%s %s %s:%d %s %s", c.Public, c.Owner.Protocol, c.Owner.Channel, c.Owner.Name, c.Port, c.Source,
			c.State)
		if c.MuxName != "" {
			fmt.Fprintf(w, " as %s", c.MuxName)
		}
		printTime(w, "since", c.Since)
		printTime(w, "until", c.Until)
		fmt.Fprintln(w)
	}
	for _, h := range reading.Ledger.Hostnames {
		fmt.Fprintf(w, "%s is %s's\n", h.Hostname, h.Namespace)
	}
	fmt.Fprintln(w)
}

func printTime(w *strings.Builder, label string, t time.Time) {
	if !t.IsZero() {
		fmt.Fprintf(w, " %s %s", label, t.Format(time.RFC3339Nano))
	}
}
