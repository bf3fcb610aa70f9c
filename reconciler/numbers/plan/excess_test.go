package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// TestChannelBeyondALimitIsTold has channels that admission would refuse, and that are older than the limit or came
// while admission was off. They keep working, and their owners learn of the limit.
func TestChannelBeyondALimitIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		ports, ranges int
		reason        validation.Reason
		says          string
	}{
		"too many ports": {ports: validation.MaxChannelPorts + 1, reason: validation.InvalidPort,
			says: "1001 ports are too many, a channel may have 1000"},
		"as many as it may have": {ports: validation.MaxChannelPorts, reason: plan.Accepted},
		"too many source ranges": {ports: 1, ranges: validation.MaxEntries + 1, reason: validation.InvalidSourceRanges,
			says: "256"},
	} {
		t.Run(name, func(t *testing.T) {
			class := "svc-mux.nowake.ai/" + muxKey.Name + "." + muxKey.Namespace
			svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "web"}}
			svc.Spec.Type, svc.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, &class
			for i := range c.ports {
				svc.Spec.Ports = append(svc.Spec.Ports,
					corev1.ServicePort{Name: fmt.Sprint("p", i), Port: int32(10000 + i), Protocol: corev1.ProtocolTCP})
			}
			for i := range c.ranges {
				svc.Spec.LoadBalancerSourceRanges = append(svc.Spec.LoadBalancerSourceRanges,
					fmt.Sprintf("198.18.%d.%d/32", i/256, i%256))
			}
			w := plan.World{Keys: english(t).Keys(), Key: muxKey, Now: time.Unix(1e9, 0),
				Ledger: plan.Reading{Condition: plan.Missing},
				Mux:    muxThatSays(t, nil), Channels: []plan.ObservedChannel{plan.ReadChannel(english(t), svc)}}
			w.Mux.Pool = "rack" // honours source ranges
			p := plan.Mux(w, plan.Memory{})
			verdict := p.Verdicts[0]
			if !verdict.Accepted || verdict.Reason != c.reason || !strings.Contains(verdict.Message, c.says) ||
				len(verdict.Ports) != c.ports {
				t.Errorf("accepted %t, %s: %s", verdict.Accepted, verdict.Reason, verdict.Message)
			}
			told := false
			for _, patch := range p.Show {
				for _, event := range patch.Events {
					told = told || event.Warning && event.Reason == c.reason && strings.Contains(event.Message, c.says)
				}
			}
			if told != (c.says != "") {
				t.Errorf("an Event tells its owner: %t", told)
			}
		})
	}
}
