package backends

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/pace"
	"nowake.ai/svc-lb-mux/validation"
)

// scribbler records requests and answers them as configured. Like a real client it reads the answer into the given
// object.
type scribbler struct {
	client.Writer
	asked   []string
	answers map[string]error // by the slice's name
}

func (s *scribbler) answer(verb string, object client.Object, more ...string) error {
	s.asked = append(s.asked, strings.Join(append([]string{verb, object.GetName()}, more...), " "))
	slice := object.(*discoveryv1.EndpointSlice)
	slice.ResourceVersion = "99"
	slice.Labels = nil
	for i := range slice.Endpoints {
		slice.Endpoints[i].Addresses[0] = "scribbled"
		*slice.Endpoints[i].Conditions.Ready = false
	}
	return s.answers[slice.Name]
}

func (s *scribbler) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	return s.answer("create", object)
}

func (s *scribbler) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	return s.answer("patch", object, string(data))
}

func (s *scribbler) Delete(_ context.Context, object client.Object, options ...client.DeleteOption) error {
	var o client.DeleteOptions
	o.ApplyOptions(options)
	return s.answer("delete", object, string(*o.Preconditions.UID), *o.Preconditions.ResourceVersion)
}

// bench is a line without a cluster.
type bench struct {
	*line
	*scribbler
	told  []plan.Event
	clock time.Time
}

func start(t *testing.T) *bench {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{scribbler: &scribbler{answers: map[string]error{}}, clock: time.Unix(1_000_000, 0)}
	b.line = newLine(Options{Language: language, Reports: &Reports{}, Writer: b.scribbler, Metrics: NewMetrics(),
		Now:  func() time.Time { return b.clock },
		Tell: func(e plan.Event) { b.told = append(b.told, e) }}, nil)
	return b
}

func step(op project.Op, name string) project.Step {
	ready := true
	return project.Step{Op: op, ResourceVersion: "7", UID: "uid", Why: []string{"a reason"},
		Slice: &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: "svc-mux", Name: name, Labels: map[string]string{"a": "b"}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"},
				Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		}}
}

// decided returns a decision with these steps.
func decided(steps ...project.Step) *project.Decision {
	return &project.Decision{Mux: types.NamespacedName{Namespace: "svc-mux", Name: "mux"}, Steps: steps}
}

// TestCachedObjectsAreNotChanged: steps share objects with the cache, and clients read their answers into objects.
func TestCachedObjectsAreNotChanged(t *testing.T) {
	b := start(t)
	d := decided(step(project.Create, "a"), step(project.Update, "b"), step(project.Delete, "c"))
	before := decided(step(project.Create, "a"), step(project.Update, "b"), step(project.Delete, "c"))
	if _, err := b.apply(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, d); diff != "" {
		t.Error(diff)
	}
	want := []string{"create a",
		`patch b {"endpoints":[{"addresses":["10.0.0.1"],"conditions":{"ready":true}}],` +
			`"metadata":{"annotations":null,"labels":{"a":"b"},"ownerReferences":null,"resourceVersion":"7"},"ports":null}`,
		"delete c uid 7"}
	if diff := cmp.Diff(want, b.asked); diff != "" {
		t.Error(diff)
	}
}

func TestASliceThatCannotBeWrittenHarmsOnlyItself(t *testing.T) {
	b := start(t)
	refusal := errors.New("endpoints[0].addresses: Invalid value")
	b.answers["bad"] = refusal
	_, err := b.apply(t.Context(), decided(step(project.Create, "bad"), step(project.Create, "good")))
	if !errors.Is(err, refusal) || !strings.Contains(err.Error(), "create EndpointSlice svc-mux/bad") {
		t.Errorf("the error is %v", err)
	}
	if want := []string{"create bad", "create good"}; !slices.Equal(b.asked, want) {
		t.Errorf("it has asked for %q", b.asked)
	}
}

func TestStaleDecisionsAreNoErrors(t *testing.T) {
	resource := schema.GroupResource{Resource: "endpointslices"}
	for name, answer := range map[string]error{
		"a conflict":        apierrors.NewConflict(resource, "a", errors.New("changed")),
		"it exists already": apierrors.NewAlreadyExists(resource, "a"),
		"it is gone":        apierrors.NewNotFound(resource, "a"),
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t)
			b.answers["a"] = answer
			var last time.Duration
			for range 5 {
				did, err := b.apply(t.Context(), decided(step(project.Update, "a")))
				if err != nil || did.again <= last || did.again > lastRetry {
					t.Fatalf("again after %s, then %s, %v", last, did.again, err)
				}
				last = did.again
			}
		})
	}
}

// TestDriftIsToldOnceAndSlowedDown writes the same content again and again: another writer undoes it in between.
func TestDriftIsToldOnceAndSlowedDown(t *testing.T) {
	b := start(t)
	write := func() time.Duration {
		t.Helper()
		did, err := b.apply(t.Context(), decided(step(project.Update, "a")))
		if err != nil {
			t.Fatal(err)
		}
		return did.again
	}
	if write(); len(b.asked) != 1 || len(b.told) != 0 {
		t.Fatalf("the first write: asked %q, told %+v", b.asked, b.told)
	}
	if write(); len(b.asked) != 2 || len(b.told) != 1 || b.told[0].Reason != plan.MuxDriftCorrected ||
		!strings.Contains(b.told[0].Message, "another writer changed EndpointSlice svc-mux/a") {
		t.Fatalf("the first correction: asked %q, told %+v", b.asked, b.told)
	}
	if again := write(); len(b.asked) != 2 || again != pace.FirstPause {
		t.Errorf("the second correction: asked %q, again after %s", b.asked, again)
	}
	b.clock = b.clock.Add(pace.FirstPause)
	if write(); len(b.asked) != 3 || len(b.told) != 1 {
		t.Errorf("after the pause: asked %q, told %d times", b.asked, len(b.told))
	}
}

// TestOtherContentIsNoDrift lets a slice come, change, go and come back as it was. No other writer caused any of this.
func TestOtherContentIsNoDrift(t *testing.T) {
	b := start(t)
	other := step(project.Update, "a")
	other.Slice.Endpoints = nil
	for _, s := range []project.Step{step(project.Create, "a"), other, step(project.Update, "a"),
		step(project.Delete, "a"), step(project.Create, "a")} {
		if did, err := b.apply(t.Context(), decided(s)); err != nil || did.again != patience {
			t.Fatalf("%s: again after %s, %v", &s, did.again, err)
		}
	}
	if len(b.asked) != 5 || len(b.told) != 0 {
		t.Errorf("asked %q, told %+v", b.asked, b.told)
	}
}

// TestASliceThatIsGoneAlreadyIsNoDrift deletes a slice that a stale cache still shows.
func TestASliceThatIsGoneAlreadyIsNoDrift(t *testing.T) {
	b := start(t)
	for _, answer := range []error{nil, apierrors.NewNotFound(schema.GroupResource{Resource: "endpointslices"}, "a")} {
		b.answers["a"] = answer
		gone := step(project.Delete, "a")
		if did, err := b.apply(t.Context(), decided(gone)); err != nil || did.again != patience {
			t.Errorf("again after %s, %v", did.again, err)
		}
		if b.written.Latest(client.ObjectKeyFromObject(gone.Slice), gone.Slice) != nil {
			t.Error("the stale cache is believed")
		}
	}
	if len(b.asked) != 2 || len(b.told) != 0 {
		t.Errorf("asked %q, told %+v", b.asked, b.told)
	}
}

// TestAFailedWriteIsNoDrift repeats a write that the API server didn't take.
func TestAFailedWriteIsNoDrift(t *testing.T) {
	b := start(t)
	b.answers["a"] = errors.New("the connection was lost")
	for range 3 {
		if _, err := b.apply(t.Context(), decided(step(project.Update, "a"))); err == nil {
			t.Fatal("no error")
		}
	}
	if len(b.asked) != 3 || len(b.told) != 0 {
		t.Errorf("asked %q, told %+v", b.asked, b.told)
	}
}

// TestARefusedSliceStaysRefusedWhileItsCorrectionWaits: no write of it has succeeded.
func TestARefusedSliceStaysRefusedWhileItsCorrectionWaits(t *testing.T) {
	b := start(t)
	var last wordsOfSlices
	for range 3 {
		b.report(types.NamespacedName{}, wordsOfSlices{{Namespace: "svc-mux", Name: "a"}: "refused"})
		did, err := b.apply(t.Context(), decided(step(project.Update, "a"), step(project.Delete, "b")))
		if err != nil {
			t.Fatal(err)
		}
		last = did.refused
	}
	if diff := cmp.Diff(wordsOfSlices{{Namespace: "svc-mux", Name: "a"}: "refused"}, last); diff != "" {
		t.Error(diff)
	}
}

// TestATakenNameIsToldOnce checks that a foreign slice causes one Event, a message for the condition, and another pass.
func TestATakenNameIsToldOnce(t *testing.T) {
	b, channel := start(t), types.NamespacedName{Namespace: "app", Name: "web"}
	key := types.NamespacedName{Namespace: "svc-mux", Name: "a"}
	d := decided()
	d.Channel, d.Taken = channel, map[types.NamespacedName]string{key: "taken"}
	for range 2 {
		did, err := b.apply(t.Context(), d)
		if err != nil || did.again != nameTaken || did.refused[key] != d.Taken[key] {
			t.Fatalf("again after %s, refused %v, %v", did.again, did.refused, err)
		}
		b.report(channel, did.refused)
	}
	if len(b.told) != 1 || b.told[0].Reason != plan.SliceNameTaken || b.told[0].Object != d.Mux || !b.told[0].Warning {
		t.Errorf("told %+v", b.told)
	}
}

// TestARefusedSliceIsToldOnce: the API server's message stays known until the API server takes the slice, also while
// the slice waits for its turn.
func TestARefusedSliceIsToldOnce(t *testing.T) {
	b, channel := start(t), types.NamespacedName{Namespace: "app", Name: "web"}
	resource := schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}
	pass := func(used string) wordsOfSlices {
		t.Helper()
		b.answers["a"] = nil
		if used != "" {
			b.answers["a"] = apierrors.NewForbidden(resource, "a", errors.New("exceeded quota: none, used: "+used))
		}
		d := decided(step(project.Create, "a"))
		d.Channel = channel
		did, err := b.apply(t.Context(), d)
		if (err != nil) != (used != "") {
			t.Fatalf("used %q: %v", used, err)
		}
		b.report(channel, did.refused)
		return did.refused
	}
	first := pass("0")
	if len(first) != 1 || !strings.Contains(b.refusalOf(channel), "exceeded quota: none, used: 0") {
		t.Fatalf("refused: %v", first)
	}
	if len(b.told) != 1 || b.told[0].Reason != plan.BackendsRefused ||
		!strings.Contains(b.told[0].Message, "svc-mux/a with the backends of app/web") {
		t.Fatalf("told %+v", b.told)
	}
	if pass("3"); len(b.told) != 1 {
		t.Errorf("another count of the quota is news: %+v", b.told)
	}
	if pass(""); b.refusalOf(channel) != "" {
		t.Errorf("it is still refused: %s", b.refusalOf(channel))
	}
}

func (b *bench) report(channel types.NamespacedName, refused wordsOfSlices) {
	b.Reports.set(&observation{View: project.View{Channel: channel, Mux: project.Mux{UID: "1"}}}, nil, refused,
		b.clock)
}

func (b *bench) refusalOf(channel types.NamespacedName) string {
	_, words := b.Reports.Of(channel, "1")
	return words
}
