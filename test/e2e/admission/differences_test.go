package admission

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/corpus"
	"nowake.ai/svc-lb-mux/validation"
)

// differences maps Services of the corpus on which policy and validation disagree to the reason. In each case the
// policy allows a Service that validation denies. A cluster that has only the policy can live with that.
func differences() map[string]string {
	return map[string]string{
		"a thousand ports that all want one number are told up to a point": "with more than 200 ports, to compare each " +
			"with each costs more than the API server allows; the reconciler still gives a number to one of them only",
	}
}

// beyond holds differences that need larger Services than the corpus has.
func beyond() map[string]difference {
	blanks := strings.Repeat(" ", 1000)
	return map[string]difference{
		"the policy reads 101 entries of a list: rules that compare entries have quadratic cost": {
			svc: aMuxThatSays("allowed-namespaces", numbered("team-%d,", 101)+"Wrong"), denies: "validation",
		},
		"the policy allows a change of a longer list: it can't tell which mistakes are new": {
			old: aMuxThatSays("port-range", numbered("%d,", 102)), svc: aMuxThatSays("port-range", "x"), denies: "validation",
		},
		"the policy allows a change of external-ports if there were more than 200 ports": {
			old: aChannelThatAsks(200, ""), svc: aChannelThatAsks(1, "grcp:1"), denies: "validation",
		},
		"the policy doesn't compare more than 20 ranges of a channel: to compare each with each costs too much": {
			svc: aChannelThatAsks(21, rangesOf(21)), denies: "validation",
		},
		"validation stops after 32 mistakes, so that any change counts as new; the policy counts each mistake": {
			old: aChannelThatAsks(0, numbered("x%d:1,", 40)), svc: aChannelThatAsks(0, numbered("x%d:1,", 39)),
			denies: "validation",
		},
		"the policy denies an entry of 1,000 characters without reading it: only blanks could make it valid": {
			svc: aChannelThatAsks(0, "http"+blanks+":8080"), denies: "policy",
		},
		"the policy denies a pattern of more than 300 characters, although its placeholders may be shorter": {
			svc: aMuxThatSays("allowed-hostnames", strings.Repeat("{namespace}.", 30)+"com"), denies: "policy",
		},
		"the policy denies a source range of more than 100 characters without reading it: only blanks could make it valid": {
			svc: aChannelFor(1, strings.Repeat(" ", 100)+"10.%d.0.0/16"), denies: "policy",
		},
		"the policy denies a duration of more than 100 characters": {
			svc: aMuxThatSays("release-grace", "0."+strings.Repeat("0", 100)+"1s"), denies: "policy",
		},
	}
}

// difference is a change that only the policy or only validation denies.
type difference struct {
	old, svc *corev1.Service
	denies   string
}

func differsBeyond(t *testing.T, w world, lang validation.Language) {
	for why, d := range beyond() {
		t.Run(why, func(t *testing.T) {
			var old *corev1.Service
			if d.old != nil {
				var err error
				if old, err = w.seed(t.Context(), d.old); err != nil {
					t.Fatal(err)
				}
				defer w.remove(t, old)
			}
			got, want := w.judge(t.Context(), old, d.svc), len(lang.Review(d.old, d.svc).Denied) > 0
			if got.err != nil || got.denied != (d.denies == "policy") || want != (d.denies == "validation") {
				t.Errorf("want a denial by the %s alone; validation denies: %v; the policy: %+v", d.denies, want, got)
			}
		})
	}
}

// affordsTheDearest creates Services for which every rule has its highest cost. Each Service has a mistake. If the
// verdict has validation's reason, no rule exceeded its cost limit.
func affordsTheDearest(t *testing.T, w world) {
	long := strings.Repeat("x", 900)
	for name, svc := range map[string]*corev1.Service{
		"a hundred and one of each mistake": dearestMux(101, ""),
		"long mistakes":                     dearestMux(60, long),
		"199 ports, all unknown":            aChannelThatAsks(199, numbered("x%d:1,", 250)),
		"199 long unknown ports":            aChannelThatAsks(199, numbered(long+"%d:1,", 250)),
		"199 ports, all long and clashing":  aChannelThatAsks(199, numbered("p%d:"+strings.Repeat(" ", 900)+"1,", 199)),
		"a hundred and one names":           aChannelGathering(numbered("x.%d."+strings.Repeat("y.", 120)+"com,", 101)),
		"a hundred and one long names":      aChannelGathering(numbered(long+"%d,", 101)),
		"199 ports that clash":              aChannelThatAsks(199, numbered("p%d:1,", 199)),
		"199 ports with long wrong numbers": aChannelThatAsks(199, numbered("p%d:"+long+",", 250)),
		"one port named a thousand times":   aChannelThatAsks(199, strings.Repeat("p20000:1,", 1000)),
		"patterns of full length": aMuxThatSays("allowed-hostnames",
			numbered(strings.Repeat("{namespace}.", 24)+"%d,", 800)),
		"256 long source ranges": aChannelFor(256, strings.Repeat(" ", 900)+"10.%d.0.0/16"),
		"addresses of full length": aMuxOnGatewaysThatSays("address",
			numbered("2001:0db8:0000:0000:0000:%d:192.0.2.100,", 101)),
		"ranges of full length": aMuxThatSays("port-range", numbered("%d"+strings.Repeat(" ", 900)+"-1,", 250)),
		"one range in another":  aMuxThatSays("port-range", numbered("%d-65535,", 101)),
	} {
		t.Run(name, func(t *testing.T) {
			old, err := w.seed(t.Context(), svc)
			if err != nil {
				t.Fatal(err)
			}
			defer w.remove(t, old)
			fresh := svc.DeepCopy()
			fresh.Name = "fresh"
			got := w.judge(t.Context(), nil, fresh)
			if !got.denied || len(got.reasons) == 0 || !strings.HasPrefix(string(got.reasons[0]), "Invalid") {
				t.Errorf("the policy denies it for %v, %v: %s", got.reasons, got.err, got.message)
			}
			old.Labels = map[string]string{"a": "label"}
			if got := w.judge(t.Context(), old, old); got.denied || got.err != nil {
				t.Errorf("a new label is denied: %+v", got)
			}
		})
	}
}

// dearestMux returns a mux with n wrong entries in each list.
func dearestMux(n int, more string) *corev1.Service {
	svc := aMuxThatSays("port-range", numbered("%d-65535"+more+",", n))
	for key, format := range map[string]string{
		"explicit-range": "%d-65535,", "allowed-namespaces": "_%d" + more + ",",
		"allowed-hostnames": "_%d" + more + ".example.com,",
		"allowed-protocols": "x%d" + more + ",",
	} {
		svc.Annotations[prefix+"/"+key] = numbered(format, n)
	}
	return svc
}

// aChannelThatAsks and aMuxThatSays return Services that are valid except for one annotation.
func aChannelThatAsks(ports int, value string) *corev1.Service {
	class := prefix + "/mux"
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "beyond", Namespace: corpus.Namespace,
			Annotations: map[string]string{prefix + "/external-ports": value}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class,
			AllocateLoadBalancerNodePorts: new(bool), Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
	for i := range ports {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", first+i), Port: int32(first + i)})
	}
	return svc
}

// rangesOf asks for n ranges. The last two overlap.
func rangesOf(n int) string {
	var asked []string
	for i := range n {
		last := 40009 + 10*i
		if i == n-2 {
			last++
		}
		asked = append(asked, fmt.Sprintf("p%d:%d-%d", first+i, 40000+10*i, last))
	}
	return strings.Join(asked, ",")
}

func aChannelGathering(names string) *corev1.Service {
	svc := aChannelThatAsks(0, "")
	svc.Annotations = map[string]string{prefix + "/external-dns-hostname": names}
	return svc
}

// aChannelFor returns a channel with n source ranges. The first number in them counts up from 0.
func aChannelFor(n int, format string) *corev1.Service {
	svc := aChannelThatAsks(0, "")
	svc.Annotations = nil
	for i := range n {
		svc.Spec.LoadBalancerSourceRanges = append(svc.Spec.LoadBalancerSourceRanges,
			strings.ReplaceAll(format, "%d", strconv.Itoa(i)))
	}
	return svc
}

func aMuxThatSays(key, value string) *corev1.Service {
	svc := aChannelThatAsks(0, "")
	svc.Spec.LoadBalancerClass = nil
	svc.Annotations = map[string]string{prefix + "/multiplexer": "true", prefix + "/" + key: value}
	return svc
}

func aMuxOnGatewaysThatSays(key, value string) *corev1.Service {
	svc := aMuxThatSays(key, value)
	class := "gateway." + prefix + "/rack"
	svc.Spec.LoadBalancerClass = &class
	return svc
}

// first is the first number of a long list.
const first = 20000

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(format, "%d", strconv.Itoa(first+i)))
	}
	return b.String()
}
