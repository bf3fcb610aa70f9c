package drain_test

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/backends"
	"nowake.ai/svc-lb-mux/reconciler/drain"
	"nowake.ai/svc-lb-mux/reconciler/services"
	"nowake.ai/svc-lb-mux/validation"
)

// strays is a fake API server with Services that were channels before. told is true for a Service that still has our
// condition.
type strays struct {
	client.Client
	keys   validation.Keys
	told   map[string]bool
	writes int
	// Writes of refused are refused. Writes of restored are undone at once.
	refused, restored string
}

func (s *strays) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	services, ok := list.(*corev1.ServiceList)
	if !ok {
		return nil
	}
	for name, told := range s.told {
		svc := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name, UID: types.UID(name),
			ResourceVersion: s.version()}}
		if told {
			svc.Status.Conditions = []metav1.Condition{{Type: s.keys.Accepted, Status: "True"}}
		}
		services.Items = append(services.Items, svc)
	}
	return nil
}

// version is the resource version of all strays. A restored one changes together with our write.
func (s *strays) version() string { return strconv.Itoa(10 + 2*s.writes) }

func (s *strays) Status() client.SubResourceWriter { return statuses{strays: s} }

type statuses struct {
	client.SubResourceWriter
	*strays
}

func (s statuses) Patch(_ context.Context, obj client.Object, _ client.Patch,
	_ ...client.SubResourcePatchOption) error {
	name := obj.GetName()
	if name == s.refused {
		return apierrors.NewForbidden(corev1.Resource("services"), name, errors.New("a policy says no"))
	}
	s.writes++
	s.told[name] = name == s.restored
	obj.SetUID(types.UID(name))
	obj.SetResourceVersion(strconv.Itoa(9 + 2*s.writes))
	return nil
}

type unmetered struct{ services.Metrics }

func (unmetered) Wrote(string) {}

// TestAStrayThatCantBeWritten checks that such a stray is reported once no other progress is made. The message accuses
// another writer only if there is one.
func TestAStrayThatCantBeWritten(t *testing.T) {
	const patience, blame = 20 * time.Second, "somebody puts it back"
	for name, test := range map[string]struct {
		refused, restored string
		says, not         []string
	}{
		"all can be written": {says: []string{""}},
		"one is refused": {refused: "a", says: []string{"given up after 20s", "status of app/a", "a policy says no"},
			not: []string{blame}},
		"one is restored": {restored: "b", says: []string{blame}, not: []string{"failed"}},
		"one is refused, one is restored": {refused: "a", restored: "b",
			says: []string{blame, "what failed last: ", "status of app/a", "a policy says no"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &strays{told: map[string]bool{"a": true, "b": true, "c": true}, refused: test.refused, restored: test.restored}
				language, err := validation.New(validation.DefaultPrefix, "svc-mux")
				if err != nil {
					t.Fatal(err)
				}
				s.keys = language.Keys()
				began := time.Now()
				err = drain.Run(t.Context(), drain.Options{
					Line: services.New(services.Options{Language: language, Cache: s, Live: s, Writer: s, Metrics: unmetered{},
						Now: time.Now}),
					Carried:  backends.Drained{Keys: s.keys, Cache: s, Live: s, Writer: s},
					Patience: patience, Pause: time.Second, Report: io.Discard,
				})
				said := ""
				if err != nil {
					said = err.Error()
				}
				for _, words := range test.says {
					if !strings.Contains(said, words) || words == "" && err != nil {
						t.Errorf("the error %q lacks %q", said, words)
					}
				}
				for _, words := range test.not {
					if strings.Contains(said, words) {
						t.Errorf("unexpected error %q", said)
					}
				}
				if s.told["c"] || s.told["a"] != (test.refused == "a") {
					t.Errorf("Services that still show that they were channels: %v", s.told)
				}
				if test.refused != "" && test.restored == "" && time.Since(began) > patience+3*time.Second {
					t.Errorf("the drain took %s", time.Since(began))
				}
			})
		})
	}
}
