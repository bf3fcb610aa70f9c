package services

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/reconciler/fresh"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// pickyServer is an API server that refuses to set some annotations.
type pickyServer struct {
	client.Client
	refuses []string
	wrote   []map[string]any // the annotations of each patch that it took
}

func (p *pickyServer) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	body, err := patch.Data(obj)
	if err != nil {
		return err
	}
	var to struct {
		Metadata struct{ Annotations map[string]any }
	}
	if err := json.Unmarshal(body, &to); err != nil {
		return err
	}
	for key, value := range to.Metadata.Annotations {
		if value != nil && slices.Contains(p.refuses, key) {
			return apierrors.NewRequestEntityTooLargeError("no " + key)
		}
	}
	p.wrote = append(p.wrote, to.Metadata.Annotations)
	return nil
}

// TestAnnotationsThatAreRefusedAreLeftOut: ports, and the other annotations, still come to the mux. The refused
// annotations are left out of the next patches, too, until their pause is over. The mux gets one Event about them.
func TestAnnotationsThatAreRefusedAreLeftOut(t *testing.T) {
	keys := languageOf(t).Keys()
	for name, test := range map[string]struct {
		refuses []string
		wrote   string // of the first patch that was taken
		told    []string
	}{
		"nothing is refused": {nil, "generation hostname ledger topology", nil},
		"the annotations for people": {[]string{keys.Topology}, "generation hostname ledger -topology",
			[]string{"what is written for people on the mux was refused: Request entity too large: no " + keys.Topology}},
		"DNS names": {[]string{validation.FormerHostname}, "generation ledger topology",
			[]string{"the DNS names that are gathered on the mux were refused, and stay as they are"}},
		"both": {[]string{keys.Topology, validation.FormerHostname}, "generation ledger -topology",
			[]string{"what is written for people on the mux was refused", "the DNS names that are gathered"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := newIsolation(t, &strictServer{nodePorts: 1 << 16}, 0)
			server, events := &pickyServer{refuses: test.refuses}, record.NewFakeRecorder(8)
			o.Writer, o.Events = server, events
			o.service.Annotations[keys.Topology] = "before"
			p := &plan.Plan{Mux: o.world.Key, Publish: &plan.MuxPatch{Annotations: map[string]string{
				keys.Topology: "now", keys.Generation: "2", keys.Ledger: "claims", validation.FormerHostname: "a.example.com",
			}}}
			for pass := range 2 {
				o.service.Annotations = map[string]string{keys.Topology: "before"}
				if again, err := o.publish(t.Context(), p); again || err != nil {
					t.Fatalf("pass %d: another plan %t, %v", pass, again, err)
				}
			}
			if len(server.wrote) != 2 {
				t.Fatalf("%d patches were taken, want one in each pass", len(server.wrote))
			}
			for _, wrote := range server.wrote {
				if got := namesOf(wrote); got != test.wrote {
					t.Errorf("wrote %s, want %s", got, test.wrote)
				}
			}
			close(events.Events)
			for _, want := range test.told {
				if got := <-events.Events; !strings.HasPrefix(got, "Warning MuxPatchRefused "+want) {
					t.Errorf("told %q, want %q", got, want)
				}
			}
			for more := range events.Events {
				t.Errorf("told %q as well", more)
			}
		})
	}
}

// TestNamesThatAreLeftOutAreNoDrift: each pass finds that the mux lacks the names. No other writer undid a write, so
// the next real drift is corrected at once.
func TestNamesThatAreLeftOutAreNoDrift(t *testing.T) {
	o := newIsolation(t, &strictServer{nodePorts: 1 << 16}, 0)
	o.Writer = &pickyServer{refuses: []string{validation.FormerHostname}}
	names := map[string]string{validation.FormerHostname: "a.example.com"}
	all := map[string]string{o.Language.Keys().Generation: "2", validation.FormerHostname: "a.example.com"}
	for pass, wanted := range []map[string]string{all, names, names, names, all} {
		p := &plan.Plan{Mux: o.world.Key, Publish: &plan.MuxPatch{Content: 7, Annotations: wanted}}
		if o.takeTurn(p) != p {
			t.Fatalf("pass %d: the mux counts as contested", pass)
		}
		if pass == 4 && len(p.Publish.Events) == 0 {
			t.Error("another writer removed an annotation, and its correction isn't the first one")
		}
		if _, err := o.publish(t.Context(), p); err != nil {
			t.Fatalf("pass %d: %v", pass, err)
		}
	}
}

// TestNoAnnotationIsLeftOutForNodePorts: fewer annotations don't help if the cluster has no node port.
func TestNoAnnotationIsLeftOutForNodePorts(t *testing.T) {
	o := newIsolation(t, &strictServer{}, 0)
	server, why := &pickyServer{}, apierrors.NewInternalError(errors.New("failed to allocate a nodePort: range is full"))
	o.Writer = server
	patch := plan.MuxPatch{Annotations: map[string]string{o.Language.Keys().Topology: "now"}}
	if again, err := o.publishInParts(t.Context(), &plan.Plan{Mux: o.world.Key, Publish: &patch}, patch, why); again ||
		!errors.Is(err, why) || len(server.wrote) > 0 {
		t.Errorf("another plan %t, %v, after %d writes", again, err, len(server.wrote))
	}
}

// namesOf returns the annotations of a patch without their prefixes, with a minus before each that the patch removes.
func namesOf(annotations map[string]any) string {
	var names []string
	for key, value := range annotations {
		name := key[strings.Index(key, "/")+1:]
		if value == nil {
			name = "-" + name
		}
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return strings.Compare(strings.TrimPrefix(a, "-"), strings.TrimPrefix(b, "-"))
	})
	return strings.Join(names, " ")
}

// TestAnOwnWriteThatTheCacheNeverShowedIsReadBeforeAPass: a pass that decides from an older state could give a number
// away.
func TestAnOwnWriteThatTheCacheNeverShowedIsReadBeforeAPass(t *testing.T) {
	server := newDrainServer(t, nil)
	live := &countingReader{drainServer: server}
	o := newIsolation(t, &strictServer{nodePorts: 1 << 16}, 0)
	now := o.Now()
	line := New(Options{Language: server.language, Cache: freshCache{server}, Live: live})
	line.Now = func() time.Time { return now }
	line.services = fresh.Confirmed[*corev1.Service](patience, line.Now)
	written := service("9")
	written.Name = "gone"
	line.services.Put(written)
	now = now.Add(patience + 1)
	result, err := line.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(service("1"))})
	if err != nil || result.RequeueAfter != leastPause || live.reads != 1 {
		t.Errorf("%v, %v after %d live reads", result, err, live.reads)
	}
	live.fails = fmt.Errorf("busy")
	line.services.Put(written)
	now = now.Add(patience + 1)
	if _, err := line.Reconcile(t.Context(),
		reconcile.Request{NamespacedName: client.ObjectKeyFromObject(service("1"))}); err == nil {
		t.Error("a pass goes on though the live read failed")
	}
}
