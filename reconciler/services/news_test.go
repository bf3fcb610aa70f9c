package services

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

func TestNewsAreAboutTheMuxThatAnObjectIsOrNames(t *testing.T) {
	line := newLine(t, answering{})
	channel := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To(validation.DefaultPrefix + "/edge.infra")}}
	for name, test := range map[string]struct {
		object any
		want   []types.NamespacedName
	}{
		"a mux":     {service("1"), []types.NamespacedName{{Namespace: "svc-mux", Name: "mux"}}},
		"a channel": {channel, []types.NamespacedName{{Namespace: "infra", Name: "edge"}}},
		"a ledger":  {ledgerOf("infra/edge"), []types.NamespacedName{{Namespace: "infra", Name: "edge"}}},
		"no ledger": {ledgerOf(""), nil},
		"neither":   {&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "plain"}}, nil},
		"no object": {"what a watch sent", nil},
	} {
		if told := line.concerned(t.Context(), test.object); !slices.Equal(told, test.want) {
			t.Errorf("%s: news of %v, want %v", name, told, test.want)
		}
	}
}

func ledgerOf(mux string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{validation.DefaultPrefix + "/mux": mux}}}
}

// The original's finalizer would block the deletion of a mux that nobody reconciles any more.
func TestLeftoversGoFromAMuxThatIsNotReconciledAnyMore(t *testing.T) {
	line := newLine(t, answering{})
	finalizer := line.Language.Leftovers(service("1"))
	if !finalizer.Empty() {
		t.Fatal("a mux of ours has leftovers")
	}
	with := func(edit func(*corev1.Service)) *corev1.Service {
		svc := service("1")
		svc.Spec.Type = corev1.ServiceTypeLoadBalancer
		svc.Finalizers = []string{validation.DefaultPrefix + "/finalizer"}
		edit(svc)
		return svc
	}
	for name, test := range map[string]struct {
		svc  *corev1.Service
		goes bool
	}{
		"a mux":                     {with(func(*corev1.Service) {}), false},
		"one that is being deleted": {with(func(svc *corev1.Service) { svc.DeletionTimestamp = ptr.To(metav1.Now()) }), true},
	} {
		if line.Language.Leftovers(test.svc).Empty() {
			t.Fatalf("%s has no leftovers of the original: %v", name, test.svc.Finalizers)
		}
		patch := (outside{line}).strayPatch(test.svc)
		if (patch != nil) != test.goes {
			t.Errorf("%s: patch %+v, want one: %t", name, patch, test.goes)
		}
	}
}

func TestAdditionsAreHeldClaimsThatAreNotOnTheMuxYet(t *testing.T) {
	claim := func(name string, number int32, state plan.State) plan.Claim {
		return plan.Claim{Owner: plan.PortID{Channel: types.NamespacedName{Namespace: "shop", Name: name}, Name: "http",
			Protocol: corev1.ProtocolTCP}, Public: number, State: state}
	}
	mux := service("1")
	mux.Spec.Ports = []corev1.ServicePort{{Name: "a", Port: 80, Protocol: corev1.ProtocolTCP}}
	p := &plan.Plan{InForce: []plan.Claim{claim("there", 80, plan.Held), claim("comes", 81, plan.Held),
		claim("goes", 82, plan.Releasing)}}
	adds := additions(mux,
		[]validation.MuxRange{{Name: "r", Run: validation.PortRange{First: 90, Last: 99}, Protocol: corev1.ProtocolTCP}}, p)
	comes := types.NamespacedName{Namespace: "shop", Name: "comes"}
	if len(adds) != 1 || len(adds[comes]) != 1 || adds[comes][0].Number != 81 {
		t.Errorf("got %v", adds)
	}
}
