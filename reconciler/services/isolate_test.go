package services

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// strictServer is an API server that refuses some numbers on a mux, and more ports than it has node ports.
type strictServer struct {
	client.Client
	refuses         map[int32]bool
	nodePorts       int
	dryRuns, writes int // writes counts those that succeeded
	mux             *corev1.Service
}

func (p *strictServer) Patch(_ context.Context, obj client.Object, patch client.Patch,
	options ...client.PatchOption) error {
	var how client.PatchOptions
	how.ApplyOptions(options)
	body, err := patch.Data(obj)
	if err != nil {
		return err
	}
	var to struct{ Spec corev1.ServiceSpec }
	if err := json.Unmarshal(body, &to); err != nil {
		return err
	}
	if len(how.DryRun) > 0 {
		p.dryRuns++
	}
	for i := range to.Spec.Ports {
		if p.refuses[to.Spec.Ports[i].Port] {
			return apierrors.NewForbidden(corev1.Resource("services"), "mux", fmt.Errorf("port %d", to.Spec.Ports[i].Port))
		}
	}
	if len(to.Spec.Ports) > p.nodePorts {
		return apierrors.NewInternalError(errors.New("failed to allocate a nodePort: range is full"))
	}
	if len(how.DryRun) == 0 {
		p.writes++
		p.mux.Spec.Ports = to.Spec.Ports
		p.mux.DeepCopyInto(obj.(*corev1.Service))
	}
	return nil
}

// TestDryRunsFindTheRefusedChannel: all other channels get their ports, with few requests.
func TestDryRunsFindTheRefusedChannel(t *testing.T) {
	for name, test := range map[string]struct {
		channels        int
		refuses         []int32
		nodePorts       int
		served          int
		passes, dryRuns int // at most
	}{
		"none of 1,000": {channels: 1000, nodePorts: 1 << 16, served: 1000, passes: 1},
		"one of 1,000": {channels: 1000, refuses: []int32{1700}, nodePorts: 1 << 16, served: 999,
			passes: 2, dryRuns: 11},
		"the first of 1,000": {channels: 1000, refuses: []int32{1001}, nodePorts: 1 << 16, served: 999,
			passes: 2, dryRuns: 11},
		"the last of 1,000": {channels: 1000, refuses: []int32{2000}, nodePorts: 1 << 16, served: 999,
			passes: 2, dryRuns: 11},
		"the only one": {channels: 1, refuses: []int32{1001}, nodePorts: 1 << 16, passes: 2,
			dryRuns: 1},
		"three of 100": {channels: 100, refuses: []int32{1001, 1050, 1090}, nodePorts: 1 << 16,
			served: 97, passes: 4, dryRuns: 24},
		"five of 100: later channels wait": {channels: 100, refuses: []int32{1020, 1021, 1022, 1023, 1024},
			nodePorts: 1 << 16, served: 19, passes: 5, dryRuns: 32},
		"too few node ports: the youngest wait": {channels: 100, nodePorts: 40, served: 40, passes: 2, dryRuns: 8},
	} {
		t.Run(name, func(t *testing.T) {
			server := &strictServer{refuses: map[int32]bool{}, nodePorts: test.nodePorts}
			for _, number := range test.refuses {
				server.refuses[number] = true
			}
			o := newIsolation(t, server, test.channels)
			passes := 0
			for refused := true; refused; passes++ {
				if passes == 10 {
					t.Fatal("the passes don't end")
				}
				var err error
				if refused, err = o.publish(t.Context(), o.plan(plan.Mux)); err != nil {
					t.Fatal(err)
				}
				o.known.Refused = o.memory.refusals(&o.world)
			}
			served := len(server.mux.Spec.Ports)
			if slices.ContainsFunc(server.mux.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == "placeholder" }) {
				served--
			}
			if served != test.served || server.writes > 1 || passes > test.passes || server.dryRuns > test.dryRuns {
				t.Errorf("%d channels are served, want %d; %d passes, want at most %d; %d writes, want at most 1; %d dry runs, "+
					"want at most %d", served, test.served, passes, test.passes, server.writes, server.dryRuns, test.dryRuns)
			}
			for i := range server.mux.Spec.Ports[:max(served-1, 0)] {
				if at := server.mux.Spec.Ports[i].Port; test.nodePorts == 40 && at > 1040 {
					t.Errorf("%d is served before an older channel", at)
				}
			}
		})
	}
}

// TestNoChannelIsRefusedForAForeignPort: the API server also refuses the patch without new ports.
func TestNoChannelIsRefusedForAForeignPort(t *testing.T) {
	server := &strictServer{refuses: map[int32]bool{22: true}, nodePorts: 1 << 16}
	o := newIsolation(t, server, 10)
	o.world.Mux.Ports = append(o.world.Mux.Ports, corev1.ServicePort{Name: "ssh", Port: 22, Protocol: "TCP"})
	refused, err := o.publish(t.Context(), o.plan(plan.Mux))
	if refused || !apierrors.IsForbidden(err) || len(o.memory.refused) > 0 || server.dryRuns > 1 {
		t.Errorf("refused: %t, %v; %v after %d dry runs", refused, err, o.memory.refused, server.dryRuns)
	}
}

// TestWaitingChannelsDontHideTheRefusedOne: a second channel, whose number is refused too, waits for the room of the
// first.
func TestWaitingChannelsDontHideTheRefusedOne(t *testing.T) {
	server := &strictServer{refuses: map[int32]bool{1002: true, 1003: true}, nodePorts: 1 << 16}
	o := newIsolation(t, server, 3)
	o.world.Mux.Cap.Ports = 2
	for range 3 {
		if _, err := o.publish(t.Context(), o.plan(plan.Mux)); err != nil {
			t.Fatal(err)
		}
		o.known.Refused = o.memory.refusals(&o.world)
	}
	if ports := server.mux.Spec.Ports; len(ports) != 1 || ports[0].Port != 1001 || len(o.memory.refused) != 2 {
		t.Errorf("the mux has %v, want 1001 alone; refused: %v", ports, o.memory.refused)
	}
}

// newIsolation returns a mux with channels that ask for the numbers from 1001 on, the oldest first.
func newIsolation(t *testing.T, server *strictServer, channels int) *pass {
	t.Helper()
	line := newLine(t, answering{})
	line.Writer, line.Events = server, record.NewFakeRecorder(10)
	mux := service("1")
	mux.Spec.Type = corev1.ServiceTypeLoadBalancer
	mux.Spec.Ports = []corev1.ServicePort{{Name: "placeholder", Port: 101, Protocol: "TCP"}}
	mux.Annotations[line.Language.Keys().MaxPorts] = "2000"
	server.mux = mux
	now := time.Unix(1_000_000_000, 0)
	line.Now = func() time.Time { return now }
	o := &pass{Line: line,
		service: mux.DeepCopy(), channels: map[types.NamespacedName]*corev1.Service{}, memory: newMemory(budget.Limit{}),
		world: plan.World{Now: now, Keys: line.Language.Keys(), Key: client.ObjectKeyFromObject(mux),
			Mux: plan.ReadMux(line.Language, mux, false)},
	}
	o.world.Ledger = plan.Reading{Condition: plan.Good, Name: "claims"}
	for i := range channels {
		svc := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: fmt.Sprintf("c-%d", channels-i), UID: types.UID(fmt.Sprint(i)),
				CreationTimestamp: metav1.NewTime(now.Add(time.Duration(i-channels) * time.Minute))},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
				LoadBalancerClass: ptr.To(validation.DefaultPrefix + "/mux"),
				Ports:             []corev1.ServicePort{{Name: "x", Port: int32(1001 + i), Protocol: "TCP"}}},
		}
		o.world.Channels = append(o.world.Channels, plan.ReadChannel(line.Language, svc))
		o.channels[client.ObjectKeyFromObject(svc)] = svc
	}
	return o
}

// TestTheRefusedChannelWaitsLongerEachTime: the channels that only come after it in the order are tried first the next
// time. Without node ports no channel is the cause, and all wait longer.
func TestTheRefusedChannelWaitsLongerEachTime(t *testing.T) {
	policy := forbidden("by a policy")
	full := apierrors.NewInternalError(errors.New("failed to allocate a nodePort: range is full"))
	for name, test := range map[string]struct {
		reason error
		tried  bool
		want   time.Duration
	}{
		"tried":                  {policy, true, 2 * firstPause},
		"it only came after":     {policy, false, firstPause},
		"no node ports, tried":   {full, true, 2 * firstPause},
		"no node ports, another": {full, false, 2 * firstPause},
	} {
		o := newIsolation(t, &strictServer{}, 1)
		key := o.world.Channels[0].Key
		for range 2 {
			o.refuse(key, []plan.Slot{{Number: 1001, Protocol: "TCP"}}, test.reason, test.tried)
		}
		if got := o.memory.setbacks[write{itsPorts, key}].pause; got != test.want {
			t.Errorf("%s: a pause of %s, want %s", name, got, test.want)
		}
		if _, known := o.memory.refused[key]; !known {
			t.Errorf("%s: the refusal isn't known", name)
		}
	}
}
