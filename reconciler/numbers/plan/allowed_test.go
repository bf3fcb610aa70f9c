package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// muxThatSays returns a mux with these annotations.
func muxThatSays(t *testing.T, settings map[string]string) *plan.ObservedMux {
	t.Helper()
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: muxKey.Namespace, Name: muxKey.Name}}
	svc.Spec.Type = corev1.ServiceTypeLoadBalancer
	svc.Spec.Ports = []corev1.ServicePort{{Name: "placeholder", Protocol: corev1.ProtocolTCP, Port: 101}}
	svc.Annotations = map[string]string{"svc-mux.nowake.ai/multiplexer": "true"}
	for key, value := range settings {
		svc.Annotations["svc-mux.nowake.ai/"+key] = value
	}
	return plan.ReadMux(english(t), svc, false)
}

// namesOf returns channels of a namespace that together ask for count names, each for up to 64. format takes a number.
func namesOf(namespace, format string, count int) []plan.ObservedChannel {
	var channels []plan.ObservedChannel
	for from := 0; from < count; from += validation.MaxHostnames {
		c := plan.ObservedChannel{}
		c.Key, c.Mux = types.NamespacedName{Namespace: namespace, Name: fmt.Sprintf("web-%05d", from)}, muxKey
		number := int32(1000 + len(channels))
		c.Ports = []validation.ChannelPort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: number,
			Request: validation.Request{Kind: validation.Own, Number: number}}}
		for i := from; i < min(from+validation.MaxHostnames, count); i++ {
			c.Hostnames = append(c.Hostnames, fmt.Sprintf(format, i))
		}
		channels = append(channels, c)
	}
	return channels
}

// TestMuxWithTooLongListsWorks: admission limits new lists only. A mux from before the limit keeps its entries and
// isn't frozen. An Event reports the excess.
func TestMuxWithTooLongListsWorks(t *testing.T) {
	var hostnames, namespaces strings.Builder
	for i := range 2 * validation.MaxEntries {
		fmt.Fprintf(&hostnames, "n%d-*.example.com,", i)
		fmt.Fprintf(&namespaces, "team-%d,", i)
	}
	last := 2*validation.MaxEntries - 1
	w := plan.World{Keys: english(t).Keys(), Key: muxKey, Now: time.Unix(1e9, 0),
		Ledger: plan.Reading{Condition: plan.Missing},
		Mux: muxThatSays(t, map[string]string{"allowed-hostnames": hostnames.String(),
			"allowed-namespaces": namespaces.String()})}
	w.Channels = namesOf(fmt.Sprintf("team-%d", last), fmt.Sprintf("n%d-%%d.example.com", last), 2)
	p := plan.Mux(w, plan.Memory{})
	if p.Freeze != nil || !p.Verdicts[0].Accepted || p.Verdicts[0].Reason != plan.Accepted {
		t.Fatalf("freeze %v, verdict %+v", p.Freeze, p.Verdicts[0])
	}
	for _, reason := range []validation.Reason{validation.InvalidAllowedHostnames, validation.InvalidAllowedNamespaces} {
		if !slices.ContainsFunc(p.Standing, func(e plan.Event) bool { return e.Reason == reason && e.Object == muxKey }) {
			t.Errorf("no Event %s: %v", reason, p.Standing)
		}
	}
}

// TestTooManyNamesDoNotDisplaceGatheredNames: gathered names stay when other channels of the namespace ask for more
// names than a pass compares. Other namespaces get their names.
func TestTooManyNamesDoNotDisplaceGatheredNames(t *testing.T) {
	w := plan.World{Keys: english(t).Keys(), Key: muxKey, Now: time.Unix(1e9, 0),
		Mux: muxThatSays(t, map[string]string{"allowed-hostnames": "*.{namespace}.io"})}
	w.Channels = namesOf("a", "denied-%d.example.com", 4096)
	had := namesOf("a", "had-%d.a.io", 1)[0]
	had.Key.Name, had.Ports[0].Port, had.Ports[0].Request.Number = "zzz", 90, 90
	late := namesOf("a", "late-%d.a.io", 1)[0]
	late.Key.Name, late.Ports[0].Port, late.Ports[0].Request.Number = "zzzz", 91, 91
	other := namesOf("b", "web-%d.b.io", 1)[0]
	other.Ports[0].Port, other.Ports[0].Request.Number = 92, 92
	w.Channels = append(w.Channels, had, late, other)
	w.Ledger.Ledger.Hostnames = []plan.HostnameHolder{{Hostname: "had-0.a.io", Namespace: "a"}}
	p := plan.Mux(w, plan.Memory{})
	got := p.Publish.Annotations[validation.FormerHostname]
	if want := "had-0.a.io,web-0.b.io"; got != want {
		t.Errorf("gathered %q, want %q", got, want)
	}
	for _, verdict := range p.Verdicts {
		if verdict.Channel == late.Key && !strings.Contains(verdict.Message, "ask for more than 4096 new names") {
			t.Errorf("the last channel has message %s", verdict.Message)
		}
	}
}

// TestNamespacesShareTheComparisonsOfAPass: a mux has more patterns than a mux may have now, and the channels of twenty
// namespaces ask for many names that it doesn't allow. The names that each namespace asks for first are judged.
func TestNamespacesShareTheComparisonsOfAPass(t *testing.T) {
	var patterns strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&patterns, "*x%d.example.com,", i)
	}
	w := plan.World{Keys: english(t).Keys(), Key: muxKey, Now: time.Unix(1e9, 0),
		Mux: muxThatSays(t, map[string]string{"allowed-hostnames": patterns.String() + "*.{namespace}.io"})}
	var want []string
	for i := range 20 {
		namespace := fmt.Sprintf("team-%02d", i)
		first, last := namesOf(namespace, "first-%d."+namespace+".io", 1)[0], namesOf(namespace, "last-%d."+namespace+".io",
			1)[0]
		first.Key.Name, last.Key.Name = "a-first", "z-last"
		want = append(want, first.Hostnames[0])
		for _, c := range append(namesOf(namespace, "denied-%d.example.com", 100), first, last) {
			number := int32(1000 + len(w.Channels))
			c.Ports[0].Port, c.Ports[0].Request.Number = number, number
			w.Channels = append(w.Channels, c)
		}
	}
	slices.Sort(want)
	p := plan.Mux(w, plan.Memory{})
	if got := p.Publish.Annotations[validation.FormerHostname]; got != strings.Join(want, ",") {
		t.Errorf("gathered %q, want %q", got, want)
	}
	for _, verdict := range p.Verdicts {
		if verdict.Channel.Name == "z-last" && !strings.Contains(verdict.Message, "ask for more than 69 new names") {
			t.Errorf("%s is told %s", verdict.Channel, verdict.Message)
		}
	}
}

// TestNamesLeaveRoomForOtherAnnotations: a mux has each name three times, and Kubernetes allows 256 KiB of annotations.
// A mux that has more names, from a release that wrote them twice, keeps them, and gets no new ones.
func TestNamesLeaveRoomForOtherAnnotations(t *testing.T) {
	format := "n%03d." + strings.Repeat(strings.Repeat("a", 60)+".", 3) + "io"
	for name, tc := range map[string]struct{ had, want, most int }{
		"a new mux":                   {0, 214, 120 << 10},
		"a mux with names for 60 KiB": {320, 320, 190 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			w := plan.World{Keys: english(t).Keys(), Key: muxKey, Now: time.Unix(1e9, 0), Mux: muxThatSays(t, nil),
				Channels: namesOf("a", format, 512)}
			for i := range tc.had {
				w.Ledger.Ledger.Hostnames = append(w.Ledger.Ledger.Hostnames,
					plan.HostnameHolder{Hostname: fmt.Sprintf(format, i), Namespace: "a"})
			}
			annotations, bytes := plan.Mux(w, plan.Memory{}).Publish.Annotations, 0
			for _, key := range []string{validation.FormerHostname, validation.ExternalDNSHostname,
				w.Keys.AggregatedExternalDNS} {
				if got := len(strings.Split(annotations[key], ",")); got != tc.want {
					t.Errorf("%d names in %s, want %d", got, key, tc.want)
				}
				bytes += len(annotations[key])
			}
			if bytes > tc.most {
				t.Errorf("%d bytes", bytes)
			}
		})
	}
}
