package plan_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/forecast"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// askingExternalDNS returns a channel with names that external-dns takes from the channel itself.
func askingExternalDNS(t *testing.T, names string, ports ...int32) plan.ObservedChannel {
	t.Helper()
	class := "svc-mux.nowake.ai/" + muxKey.Name + "." + muxKey.Namespace
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "web",
		Annotations: map[string]string{"external-dns.alpha.kubernetes.io/hostname": names}}}
	svc.Spec.Type, svc.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, &class
	for _, number := range ports {
		svc.Spec.Ports = append(svc.Spec.Ports,
			corev1.ServicePort{Name: fmt.Sprintf("p%d", number), Port: number, Protocol: corev1.ProtocolTCP})
	}
	return plan.ReadChannel(english(t), svc)
}

// TestPredictionConcernsOnlyNewNames: a channel has a DNS name from before the mux forbade it. A second forbidden name
// is predicted and proven. Updates without a new forbidden name have no prediction.
func TestPredictionConcernsOnlyNewNames(t *testing.T) {
	before := askingExternalDNS(t, "www.bank.example.com", 80)
	w := plan.World{Keys: english(t).Keys(), Key: muxKey, Now: time.Unix(1e9, 0),
		Ledger: plan.Reading{Condition: plan.Missing},
		Mux:    muxThatSays(t, nil), Channels: []plan.ObservedChannel{before}}
	ports := plan.Mux(w, plan.Memory{}).Publish.Ports
	w.Mux = muxThatSays(t, map[string]string{"allowed-hostnames": "*.{namespace}.example.com"})
	w.Mux.Ports = ports
	outlook := forecast.Survey(w)
	for about, c := range map[string]struct {
		after plan.ObservedChannel
		want  int
	}{
		"one name more":           {askingExternalDNS(t, "www.bank.example.com,api.bank.example.com", 80), 1},
		"one port more":           {askingExternalDNS(t, "www.bank.example.com", 80, 81), 0},
		"an allowed name instead": {askingExternalDNS(t, "www.app.example.com", 80), 0},
	} {
		t.Run(about, func(t *testing.T) {
			said := outlook.Channel(&before, c.after, false)
			if len(said) != c.want {
				t.Fatalf("predicted %+v, want %d", said, c.want)
			}
			for _, p := range said {
				if p.Reason != plan.HostnameNotAllowed || !p.Proven ||
					p.Field != "metadata.annotations[external-dns.alpha.kubernetes.io/hostname]" {
					t.Errorf("predicted %+v", p)
				}
			}
		})
	}
}

// TestChannelsBeyondTheComparedNamesAreRefused: a pass compares a bounded number of names of a namespace.
func TestChannelsBeyondTheComparedNamesAreRefused(t *testing.T) {
	w := plan.World{Keys: english(t).Keys(), Key: muxKey, Now: time.Unix(1e9, 0),
		Mux: muxThatSays(t, map[string]string{"allowed-hostnames": "*.{namespace}.io"})}
	w.Channels = namesOf("a", "any-%d.a.io", 4097)
	for i := range w.Channels {
		for _, name := range w.Channels[i].Hostnames {
			w.Channels[i].Direct = append(w.Channels[i].Direct,
				validation.DirectName{Key: "external-dns.kubernetes.io/hostname", Name: name})
		}
		w.Channels[i].Hostnames = nil
	}
	for _, verdict := range plan.Mux(w, plan.Memory{}).Verdicts {
		if last := w.Channels[len(w.Channels)-1].Key == verdict.Channel; verdict.Accepted == last || last &&
			verdict.Reason != plan.HostnameNotAllowed {
			t.Errorf("%s: accepted %v, %s", verdict.Channel, verdict.Accepted, verdict.Message)
		}
	}
}
