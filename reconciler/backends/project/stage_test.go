package project_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
)

// stage is the mux's namespace with its slices.
type stage struct {
	stands  map[string]*discoveryv1.EndpointSlice
	version int
}

// carryOut carries out the steps of a decision, as the API server would.
func (st *stage) carryOut(t testing.TB, s project.Decision) {
	t.Helper()
	for _, step := range s.Steps {
		st.version++
		name := step.Slice.Name
		is, there := st.stands[name]
		if there == (step.Op == project.Create) {
			t.Fatalf("%s, though there is one: %t", step.String(), there)
		}
		if there && is.ResourceVersion != step.ResourceVersion {
			t.Fatalf("%s is about version %s, not %s", step.String(), step.ResourceVersion, is.ResourceVersion)
		}
		switch step.Op {
		case project.Create:
			is = step.Slice.DeepCopy()
			is.UID = types.UID("uid-" + strconv.Itoa(st.version))
		case project.Update:
			is = merged(is, step)
		case project.Delete:
			delete(st.stands, name)
			continue
		}
		is.ResourceVersion = strconv.Itoa(st.version)
		st.stands[name] = is
	}
}

func merged(is *discoveryv1.EndpointSlice, step project.Step) *discoveryv1.EndpointSlice {
	is = is.DeepCopy()
	is.Labels, is.Annotations = with(is.Labels, step.Slice.Labels), with(is.Annotations, step.Slice.Annotations)
	is.OwnerReferences, is.Ports, is.Endpoints = step.Slice.OwnerReferences, step.Slice.Ports, step.Slice.Endpoints
	return is.DeepCopy()
}

func with(is, ours map[string]string) map[string]string {
	if is == nil {
		is = map[string]string{}
	}
	maps.Copy(is, ours)
	return is
}

// edit changes the mux's namespace as other writers do.
func (st *stage) edit(t testing.TB, s *scene) {
	t.Helper()
	for _, source := range s.Removed {
		for name, slice := range st.stands {
			if slice.Labels[keys(t).Source] == source {
				delete(st.stands, name)
			}
		}
	}
	for _, change := range s.Slices {
		text, err := yaml.Marshal(change)
		if err != nil {
			t.Fatal(err)
		}
		var named discoveryv1.EndpointSlice
		if err := yaml.Unmarshal(text, &named); err != nil {
			t.Fatal(err)
		}
		slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{UID: types.UID("foreign-" + named.Name)}}
		if is := st.stands[named.Name]; is != nil {
			slice = is.DeepCopy()
		}
		if err := yaml.UnmarshalStrict(text, slice); err != nil {
			t.Fatal(err)
		}
		st.version++
		slice.Namespace, slice.ResourceVersion = "svc-mux", strconv.Itoa(st.version)
		st.stands[slice.Name] = slice
	}
}

// play carries out the earlier scenes and this one. It returns the last decision.
func (st *stage) play(t testing.TB, s *scene) project.Decision {
	t.Helper()
	if s.Before != nil {
		st.play(t, s.Before)
		st.settle(t, s.Before)
	}
	st.edit(t, s)
	v := s.view(t, st.stands)
	decided := project.Decide(v)
	st.carryOut(t, decided)
	return decided
}

// settle decides again, and checks that there is nothing to do.
func (st *stage) settle(t testing.TB, s *scene) {
	t.Helper()
	again := project.Decide(s.view(t, st.stands))
	if !again.Empty() {
		t.Fatalf("it isn't content with what it has done:\n%s", again.String())
	}
}

// String returns the slices in the mux's namespace.
func (st *stage) String(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(st.stands)) {
		slice := st.stands[name].DeepCopy()
		slice.ResourceVersion, slice.UID = "", ""
		text, err := yaml.Marshal(slice)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("---\n" + strings.Replace(string(text), "  creationTimestamp: null\n", "", 1))
	}
	return b.String()
}
