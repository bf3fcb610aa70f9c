package mux

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// answering answers every patch with a Service, every read of the mux with another, and of channels with a third.
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

func lineOf(t *testing.T, a answering) *Line {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{Language: language, Writer: a, Live: a, Metrics: unmetered{}, Now: time.Now})
}

func service(version string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "svc-mux", Name: "mux", UID: "one", ResourceVersion: version,
		Annotations: map[string]string{validation.DefaultPrefix + "/multiplexer": "true"}}}
}

// TestTheMuxIsKnownAsItWasWritten while the cache is behind: the next pass must not decide from what was before.
func TestTheMuxIsKnownAsItWasWritten(t *testing.T) {
	line := lineOf(t, answering{patched: service("17")})
	key := client.ObjectKeyFromObject(service(""))
	o := &observed{world: plan.World{Key: key}, service: service("11"), memory: newMemory(Budget{})}
	if err := line.patchMux(t.Context(), o, &plan.MuxPatch{}); err != nil {
		t.Fatal(err)
	}
	if got := line.services.Latest(key, service("11")); got.ResourceVersion != "17" || o.service.ResourceVersion != "17" {
		t.Errorf("it is known at version %s, and gone on from at %s", got.ResourceVersion, o.service.ResourceVersion)
	}
}

// TestWhatCantBeUndoneIsConfirmed by a live read: a channel may ask for its port again, and any number may be in use on the mux.
func TestWhatCantBeUndoneIsConfirmed(t *testing.T) {
	web := types.NamespacedName{Namespace: "app", Name: "web"}
	held := plan.Claim{Owner: plan.PortID{Channel: web, Name: "http"}, Public: 80, MuxName: "x"}
	released := held
	released.State = plan.Releasing
	has, goes := []plan.Claim{held}, []plan.Claim{released}
	says := func(claims []plan.Claim) *plan.LedgerWrite {
		return &plan.LedgerWrite{Ledger: plan.Ledger{Claims: claims}}
	}
	keeps, drops := &plan.MuxPatch{Ports: []corev1.ServicePort{{Name: "x", Port: 80}}}, &plan.MuxPatch{Ports: []corev1.ServicePort{}}
	const mux, channel = "mux", "channel"
	for name, test := range map[string]struct {
		had  []plan.Claim
		plan plan.Plan
		want string // who is read live
	}{
		"nothing is written":                   {has, plan.Plan{}, ""},
		"a port stays":                         {has, plan.Plan{Publish: keeps}, ""},
		"a port goes, and its claim stays":     {has, plan.Plan{Publish: drops}, "mux channel"},
		"a claim is given":                     {nil, plan.Plan{Reserve: says(has), Publish: keeps}, mux},
		"a claim is let go":                    {has, plan.Plan{Reserve: says(goes), Publish: drops}, "mux channel"},
		"a claim went before":                  {goes, plan.Plan{Settle: says(goes)}, mux},
		"a claim goes at once":                 {has, plan.Plan{Settle: says(nil)}, "mux channel"},
		"only the mux tells of what is let go": {nil, plan.Plan{Reserve: says(goes)}, "mux channel"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, change := range []string{"", mux + " is edited", mux + " shows", channel + " is edited", channel + " shows"} {
				live := map[string]*corev1.Service{mux: service("12"), channel: service("12")}
				edited, what, _ := strings.Cut(change, " ")
				switch what {
				case "is edited":
					live[edited].Spec.ExternalIPs = []string{"192.0.2.1"}
				case "shows": // an address that the cache doesn't
					live[edited].Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.10"}}
				}
				seen := service("11")
				o := &observed{service: seen.DeepCopy(), channels: map[types.NamespacedName]*corev1.Service{web: seen}, memory: newMemory(Budget{})}
				o.service.Spec.Ports = []corev1.ServicePort{{Name: "x", Port: 80}}
				live[mux].Spec.Ports = o.service.Spec.Ports
				o.world.Key, o.world.Ledger.Ledger.Claims = client.ObjectKeyFromObject(seen), test.had
				err := lineOf(t, answering{live: live[mux], channel: live[channel]}).confirm(t.Context(), o, &test.plan)
				if refused := edited != "" && strings.Contains(test.want, edited); (err != nil) != refused {
					t.Errorf("where %q, it says %v", change, err)
				}
			}
		})
	}
}

func TestAServiceThatWasMadeAnewIsAnother(t *testing.T) {
	refused := func(path ...string) error {
		at := field.NewPath(path[0], path[1:]...)
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "x", field.ErrorList{field.Invalid(at, "two", "field is immutable")})
	}
	if !isAnother(refused("metadata", "uid")) || isAnother(refused("metadata", "name")) || isAnother(nil) {
		t.Error("another Service isn't told from one that was refused")
	}
}

func TestWhatSomebodyChangedMeanwhileIsSeen(t *testing.T) {
	before := service("1")
	before.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	before.Status.Conditions = []metav1.Condition{{Type: "A", Status: "True"}, {Type: "B", Status: "True"}}
	patch := &plan.ChannelPatch{Conditions: []metav1.Condition{{Type: "B", Status: "False"}}}
	after := before.DeepCopy()
	after.Status.Conditions[1].Status = "False"
	wiped, lost := after.DeepCopy(), after.DeepCopy()
	wiped.Status.LoadBalancer.Ingress, lost.Status.Conditions = nil, lost.Status.Conditions[1:]
	if !asWritten(before, after, patch) || asWritten(before, wiped, patch) || asWritten(before, lost, patch) {
		t.Error("somebody's change is taken for one's own")
	}
}

// TestWhoRebuildsALedgerTakesChannelsAsTheyAre where the cache is behind: one that is left out would have nothing in it. One that has
// gone, or is another mux's, is left out.
func TestWhoRebuildsALedgerTakesChannelsAsTheyAre(t *testing.T) {
	line := lineOf(t, answering{})
	line.Sources, line.Carried = noSlices, noneCarried
	channel := func(class string, port int32) *corev1.Service {
		svc := service("12")
		svc.Name, svc.Annotations = "web", nil
		svc.Spec.Type, svc.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, &class
		svc.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: port}}
		return svc
	}
	const ours, another = validation.DefaultPrefix + "/mux", validation.DefaultPrefix + "/another"
	web := client.ObjectKeyFromObject(channel(ours, 0))
	for name, test := range map[string]struct {
		live *corev1.Service
		want int32 // the number that it is known with
	}{
		"edited":        {channel(ours, 81), 81},
		"gone":          {nil, 0},
		"another mux's": {channel(another, 81), 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := &observed{memory: newMemory(Budget{})}
			o.world = plan.World{Key: client.ObjectKeyFromObject(service("")), Mux: &plan.ObservedMux{}, Stuck: map[types.NamespacedName]bool{}}
			cached := channel(ours, 80)
			o.channels = map[types.NamespacedName]*corev1.Service{web: cached}
			o.world.Channels = []plan.ObservedChannel{plan.ReadChannel(line.Language, cached)}
			changed := &unsteady{channels: []types.NamespacedName{web}, live: map[types.NamespacedName]*corev1.Service{web: test.live}}
			line.takeLive(t.Context(), o, changed)
			got := int32(0)
			for _, known := range o.world.Channels {
				got = known.Ports[0].Port
			}
			if got != test.want || got != 0 && o.channels[web] != test.live {
				t.Errorf("it is known with %d, want %d", got, test.want)
			}
		})
	}
}
