package plan_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// TestAnyWorld: every world has a plan, and always the same one.
func TestAnyWorld(t *testing.T) {
	language := english(t)
	rapid.Check(t, func(r *rapid.T) {
		w, m := anyWorld(r, language)
		first := plan.Mux(w, m)
		first.Print(io.Discard)
		if again := plan.Mux(w, m); printed(again) != printed(first) {
			t.Fatalf("two plans for the same world:\n%s\n%s", printed(first), printed(again))
		}
	})
}

func anyWorld(r *rapid.T, language validation.Language) (plan.World, plan.Memory) {
	w := plan.World{
		Key: muxKey, Keys: language.Keys(), Now: time.Unix(rapid.Int64Range(0, 1e9).Draw(r, "now"), 0),
		Live: map[types.NamespacedName]plan.Liveness{}, Confirmed: map[types.NamespacedName]bool{},
	}
	m := plan.Memory{Refused: map[types.NamespacedName]plan.PatchRefusal{}, Stuck: map[types.NamespacedName]bool{}}
	if rapid.IntRange(0, 9).Draw(r, "mux") > 0 {
		w.Mux = plan.ReadMux(language, anyMux(r), rapid.Bool().Draw(r, "declares"))
	}
	for range rapid.IntRange(0, 5).Draw(r, "channels") {
		w.Channels = append(w.Channels, anyChannel(r, language))
	}
	for range rapid.IntRange(0, 6).Draw(r, "claims") {
		w.Ledger.Ledger.Claims = append(w.Ledger.Ledger.Claims, anyClaim(r))
	}
	w.Ledger.Ledger.Generation = rapid.SampledFrom([]int64{0, 1, 2, 1<<63 - 1}).Draw(r, "generation")
	w.Ledger.Condition = plan.LedgerState(rapid.IntRange(0, 6).Draw(r, "condition"))
	w.Ledger.Moved = rapid.Bool().Draw(r, "moved")
	w.Unmet, w.ListenersUnknown = rapid.Bool().Draw(r, "unmet"), rapid.Bool().Draw(r, "listeners unknown")
	w.Ledger.Unlabelled = rapid.Bool().Draw(r, "unlabelled")
	if rapid.Bool().Draw(r, "last") {
		m.LastGood = &plan.Ledger{Claims: []plan.Claim{anyClaim(r), anyClaim(r)}}
	}
	for range rapid.IntRange(0, 3).Draw(r, "said") {
		key := anyKey(r)
		w.Live[key] = plan.Liveness(rapid.IntRange(0, 3).Draw(r, "live"))
		m.Stuck[key] = rapid.Bool().Draw(r, "stuck")
		claim := anyClaim(r)
		m.Refused[key] = plan.PatchRefusal{Words: "no", Slots: []plan.Slot{claim.Slot()}}
		w.Confirmed[key] = rapid.Bool().Draw(r, "confirmed")
	}
	return w, m
}

func anyKey(r *rapid.T) types.NamespacedName {
	return types.NamespacedName{
		Namespace: rapid.SampledFrom([]string{"", "app", "other"}).Draw(r, "namespace"),
		Name:      rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(r, "name"),
	}
}

func anyNumber(r *rapid.T) int32 {
	return rapid.SampledFrom([]int32{-1, 0, 1, 80, 81, 101, 20000, 20001, 65535, 65536, 1<<31 - 1}).Draw(r, "number")
}

func anyProtocol(r *rapid.T) corev1.Protocol {
	return rapid.SampledFrom([]corev1.Protocol{"TCP", "UDP", "SCTP", "", "tcp"}).Draw(r, "protocol")
}

func anyName(r *rapid.T) string {
	return rapid.SampledFrom([]string{"", "x", "y", "placeholder", "2a3dbb3", "691de741fccc169aa600",
		"f5513f9643d258388bc2"}).Draw(r, "port name")
}

func anyClaim(r *rapid.T) plan.Claim {
	return plan.Claim{
		Owner: plan.PortID{Channel: anyKey(r), Name: anyName(r), Protocol: anyProtocol(r)}, Port: anyNumber(r),
		Public: anyNumber(r), Source: plan.Source(rapid.IntRange(0, 2).Draw(r, "source")), MuxName: anyName(r),
		State: plan.State(rapid.IntRange(0, 3).Draw(r, "state")),
		Until: time.Unix(rapid.Int64Range(0, 1e9).Draw(r, "until"), 0),
	}
}

func anyMux(r *rapid.T) *corev1.Service {
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: muxKey.Namespace, Name: muxKey.Name}}
	svc.Spec.Type = corev1.ServiceTypeLoadBalancer
	svc.Annotations = map[string]string{"svc-mux.nowake.ai/multiplexer": "true"}
	for _, key := range [...]string{"port-range", "explicit-range", "max-ports", "generation", "release-grace",
		"placeholder", "allowed-protocols"} {
		value := rapid.SampledFrom(map[string][]string{
			"port-range": {"", "20000-20001", "1-65535", "80"}, "explicit-range": {"", "80"}, "max-ports": {"", "1", "3"},
			"generation": {"", "1", "2", "9223372036854775807"}, "release-grace": {"", "1h"},
			"placeholder":       {"", "keep", "remove"},
			"allowed-protocols": {"", "TCP"},
		}[key]).Draw(r, key)
		if value != "" {
			svc.Annotations["svc-mux.nowake.ai/"+key] = value
		}
	}
	svc.Spec.Ports = anyPorts(r)
	return svc
}

func anyPorts(r *rapid.T) []corev1.ServicePort {
	var ports []corev1.ServicePort
	for range rapid.IntRange(0, 4).Draw(r, "ports") {
		ports = append(ports, corev1.ServicePort{Name: anyName(r), Port: anyNumber(r), Protocol: anyProtocol(r)})
	}
	return ports
}

func anyChannel(r *rapid.T, language validation.Language) plan.ObservedChannel {
	key := anyKey(r)
	class := "svc-mux.nowake.ai/mux"
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name,
		Annotations: map[string]string{
			"svc-mux.nowake.ai/ports": fmt.Sprintf("x:80->%d", anyNumber(r)),
			"svc-mux.nowake.ai/external-ports": rapid.SampledFrom([]string{"", "x:auto", "x:20000,y:auto", "x:"}).Draw(r,
				"asks"),
			"svc-mux.nowake.ai/external-dns-hostname": rapid.SampledFrom([]string{"", "a.example.com"}).Draw(r, "names"),
			"svc-mux.nowake.ai/disabled":              rapid.SampledFrom([]string{"true", "false"}).Draw(r, "disabled"),
		}}}
	svc.Spec.Type, svc.Spec.LoadBalancerClass, svc.Spec.Ports = corev1.ServiceTypeLoadBalancer, &class, anyPorts(r)
	channel := plan.ReadChannel(language, svc)
	channel.Admitted = rapid.Bool().Draw(r, "admitted")
	if rapid.Bool().Draw(r, "careless") {
		channel.Problems = nil // no caller may do that; the world has a plan all the same
	}
	return channel
}
