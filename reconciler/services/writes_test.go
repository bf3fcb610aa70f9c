package services

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// answering is an API server that returns patched from every patch, live from a read of the mux, and channel from a
// read of a channel.
type answering struct {
	client.Client
	patched, live, channel *corev1.Service
}

func (a answering) Patch(_ context.Context, obj client.Object, _ client.Patch, _ ...client.PatchOption) error {
	*obj.(*corev1.Service) = *a.patched.DeepCopy()
	return nil
}

func (a answering) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if key.Name == "mux" {
		*obj.(*corev1.Service) = *a.live.DeepCopy()
	} else {
		*obj.(*corev1.Service) = *a.channel.DeepCopy()
	}
	return nil
}

type unmetered struct{ Metrics }

func (unmetered) Wrote(string) {}

func newLine(t *testing.T, a answering) *Line {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{Language: language, Writer: a, Live: a, Metrics: unmetered{}, Now: time.Now})
}

func service(version string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "svc-mux", Name: "mux", UID: "one",
		ResourceVersion: version,
		Annotations:     map[string]string{validation.DefaultPrefix + "/multiplexer": "true"}}}
}

// TestWrittenMuxCountsWhileTheCacheIsBehind: the next pass must not decide from the old mux.
func TestWrittenMuxCountsWhileTheCacheIsBehind(t *testing.T) {
	line := newLine(t, answering{patched: service("17")})
	key := client.ObjectKeyFromObject(service(""))
	o := &pass{Line: line, world: plan.World{Key: key}, service: service("11"), memory: newMemory(budget.Limit{})}
	if err := o.patchMux(t.Context(), &plan.MuxPatch{}); err != nil {
		t.Fatal(err)
	}
	if got := line.services.Latest(key, service("11")); got.ResourceVersion != "17" || o.service.ResourceVersion != "17" {
		t.Errorf("the latest version is %s, and the pass continues with %s", got.ResourceVersion, o.service.ResourceVersion)
	}
}

func TestRefusedUIDMeansThatTheServiceIsAnother(t *testing.T) {
	refused := func(path ...string) error {
		at := field.NewPath(path[0], path[1:]...)
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "x",
			field.ErrorList{field.Invalid(at, "two", "field is immutable")})
	}
	if !isRecreated(refused("metadata", "uid")) || isRecreated(refused("metadata", "name")) || isRecreated(nil) {
		t.Error("isRecreated doesn't look at the refused field")
	}
}

func TestAMuxsPatchReplacesLists(t *testing.T) {
	port := corev1.ServicePort{Name: "a", Port: 80}
	for name, test := range map[string]struct {
		patch plan.MuxPatch
		want  string
	}{
		"nothing": {plan.MuxPatch{ResourceVersion: "7"}, `{"metadata":{"resourceVersion":"7"}}`},
		"ports": {plan.MuxPatch{Ports: []corev1.ServicePort{port}},
			`{"metadata":{"resourceVersion":""},"spec":{"ports":[{"name":"a","port":80,"targetPort":0}]}}`},
		"one finalizer": {plan.MuxPatch{DropFinalizer: "original"},
			`{"metadata":{"finalizers":["other"],"resourceVersion":""}}`},
		"no annotation": {plan.MuxPatch{Annotations: map[string]string{}}, `{"metadata":{"resourceVersion":""}}`},
		"an annotation": {plan.MuxPatch{Annotations: map[string]string{"a": "1"}},
			`{"metadata":{"annotations":{"a":"1"},"resourceVersion":""}}`},
		"one taken away": {plan.MuxPatch{Annotations: map[string]string{"a": ""}},
			`{"metadata":{"annotations":{"a":null},"resourceVersion":""}}`},
	} {
		body, err := muxBody(&test.patch, []string{"original", "other"})
		if err != nil || string(body) != test.want {
			t.Errorf("%s: %s, %v", name, body, err)
		}
	}
}

func TestAChannelsPatchSetsWhatChanges(t *testing.T) {
	keys := languageOf(t).Keys()
	address := []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	for name, test := range map[string]struct {
		patch plan.ChannelPatch
		want  string
	}{
		"nothing":      {plan.ChannelPatch{}, `{"metadata":{"uid":"one"}}`},
		"at a version": {plan.ChannelPatch{ResourceVersion: "7"}, `{"metadata":{"resourceVersion":"7","uid":"one"}}`},
		"an address": {plan.ChannelPatch{SetAddress: true, Address: address},
			`{"metadata":{"uid":"one"},"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`},
		"no address": {plan.ChannelPatch{SetAddress: true},
			`{"metadata":{"uid":"one"},"status":{"loadBalancer":{"ingress":null}}}`},
		"its old address": {plan.ChannelPatch{Address: address}, `{"metadata":{"uid":"one"}}`},
		"ports": {plan.ChannelPatch{SetNote: true, PortsNote: "a"},
			`{"metadata":{"annotations":{"` + keys.Ports + `":"a"},"uid":"one"}}`},
		"no ports": {plan.ChannelPatch{SetNote: true},
			`{"metadata":{"annotations":{"` + keys.Ports + `":null},"uid":"one"}}`},
		"a condition goes": {plan.ChannelPatch{Drop: []string{"A"}},
			`{"metadata":{"uid":"one"},"status":{"conditions":[{"$patch":"delete","type":"A"}]}}`},
		"leftovers": {plan.ChannelPatch{Leftovers: validation.Leftovers{Annotations: []string{"kopf"}, Finalizer: "f"}},
			`{"metadata":{"$deleteFromPrimitiveList/finalizers":["f"],"annotations":{"kopf":null},"uid":"one"}}`},
	} {
		body, err := channelBody(&test.patch, "one", keys)
		if err != nil || string(body) != test.want {
			t.Errorf("%s: %s, %v", name, body, err)
		}
	}
}

// TestAStrayIsWrittenAtItsTurn: if another writer keeps changing the stray back, each correction waits longer. A dry
// run writes nothing.
func TestAStrayIsWrittenAtItsTurn(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	stray := service("1")
	patch := &plan.ChannelPatch{Channel: client.ObjectKeyFromObject(stray), Content: 7, SetNote: true,
		Why: []string{"the annotation goes"}}
	line := newLine(t, answering{patched: service("2")})
	line.Now = func() time.Time { return now }
	line.Writer = statusWriter{line.Writer.(answering)}
	for i, waits := range []bool{false, false, true} {
		result, err := outside{line}.patchOutside(t.Context(), stray, patch)
		if err != nil || (result.RequeueAfter > 0) != waits {
			t.Errorf("write %d: waits %s, %v", i, result.RequeueAfter, err)
		}
	}
	if known := line.services.Latest(patch.Channel, stray); known.ResourceVersion != "2" {
		t.Errorf("the next look begins with version %s", known.ResourceVersion)
	}
	var printed []*plan.Plan
	dry := newLine(t, answering{}) // a write would panic
	dry.Print = func(p *plan.Plan) { printed = append(printed, p) }
	wrote, err := outside{dry}.writeOutside(t.Context(), stray, patch)
	if wrote || err != nil || len(printed) != 1 || printed[0].Mux != noMux || printed[0].Hide[0].Channel != patch.Channel {
		t.Errorf("a dry run wrote: %t, %v; it printed %v", wrote, err, printed)
	}
}

// statusWriter is an API server that takes patches of statuses.
type statusWriter struct{ answering }

func (s statusWriter) Status() client.SubResourceWriter { return statusPatches{answering: s.answering} }

type statusPatches struct {
	client.SubResourceWriter
	answering answering
}

func (s statusPatches) Patch(ctx context.Context, obj client.Object, patch client.Patch,
	_ ...client.SubResourcePatchOption) error {
	return s.answering.Patch(ctx, obj, patch)
}
