package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

const (
	longest     = 240 << 10 // bytes of a setting: all annotations of an object together may have 256 KiB
	mostMessage = 1 << 10   // bytes of one sentence: the limit of an Event
	mostTold    = 32 << 10  // bytes of all messages of a pass about one channel
	mostHeld    = 8 << 10   // bytes of the remarks that a pass holds in memory
)

// long fills a setting with different entries. format takes a number.
func long(format string, from, step int) string {
	var b strings.Builder
	for n := from; ; n += step {
		entry := fmt.Sprintf(format, n)
		if b.Len()+len(entry)+1 > longest || n > validation.MaxPort {
			return strings.TrimSuffix(b.String(), ",")
		}
		b.WriteString(entry + ",")
	}
}

// longestMux returns a mux with long settings that don't allow the channels' requests: it allows odd numbers only, and
// names below its own domain.
func longestMux(t *testing.T) *plan.ObservedMux {
	t.Helper()
	domain := strings.Repeat("x."+strings.Repeat("long-label.", 5), 4) + "example.com"
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: muxKey.Namespace, Name: muxKey.Name}}
	svc.Spec.Type = corev1.ServiceTypeLoadBalancer
	svc.Annotations = map[string]string{"svc-mux.nowake.ai/multiplexer": "true"}
	for key, value := range map[string]string{
		"allowed-hostnames":  long("n%d."+domain, 0, 1),
		"allowed-namespaces": "app," + long("team-%d-*", 0, 1),
		"explicit-range":     long("%d", 1, 2), "port-range": long("%d", 1, 2),
	} {
		svc.Annotations["svc-mux.nowake.ai/"+key] = value
	}
	svc.Spec.Ports = []corev1.ServicePort{{Name: "placeholder", Protocol: corev1.ProtocolTCP, Port: 101}}
	mux := plan.ReadMux(english(t), svc, false)
	if len(mux.Problems) > 0 {
		t.Fatal(mux.Problems)
	}
	return mux
}

// TestNoSettingMakesALongMessage: small Services ask a mux for names and numbers that its longest settings don't allow.
func TestNoSettingMakesALongMessage(t *testing.T) {
	mux := longestMux(t)
	for name, c := range map[string]struct {
		channel requests
		reason  validation.Reason
	}{
		"forbidden names": {requests{namespace: "app", names: 64, has: 1, odd: true, source: plan.Auto},
			plan.HostnameNotAllowed},
		"held numbers no longer allowed": {requests{namespace: "app", has: 1000, source: plan.Static},
			plan.OutOfRange},
		"picked numbers outside of the range": {requests{namespace: "app", has: 1000, source: plan.Auto}, plan.OutOfRange},
		"held numbers and forbidden names": {requests{namespace: "app", names: 64, has: 1000, source: plan.Static},
			plan.OutOfRange},
		"a forbidden number":              {requests{namespace: "app", source: plan.Static}, plan.OutOfRange},
		"a namespace that may not attach": {requests{namespace: "else", source: plan.Static}, plan.NamespaceNotAllowed},
		"a namespace that may no longer attach": {requests{namespace: "else", has: 1000, source: plan.Static},
			plan.NamespaceNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.channel.world(english(t), mux)
			p := plan.Mux(w, plan.Memory{})
			if verdict := p.Verdicts[0]; verdict.Reason != c.reason {
				t.Fatalf("got %s, %.200s", verdict.Reason, verdict.Message)
			}
			told, sum := messagesOf(p), 0
			for _, message := range told {
				sum += len(message)
				for sentence := range strings.SplitSeq(message, "; ") {
					if len(sentence) > mostMessage {
						t.Errorf("a sentence of %d bytes: %.200s...", len(sentence), sentence)
					}
				}
			}
			if len(told) < 2 || sum > mostTold {
				t.Errorf("%d messages with %d bytes, want at least 2 messages with at most %d bytes", len(told), sum, mostTold)
			}
			if held := plan.HeldNotes(w); held > mostHeld {
				t.Errorf("notes hold %d bytes, want at most %d", held, mostHeld)
			}
		})
	}
}

// requests are the requests of a channel for DNS names, and for even or odd numbers. It has the first of these numbers
// already, and asks for at least one.
type requests struct {
	namespace  string
	names, has int
	odd        bool
	source     plan.Source
}

func (a requests) world(language validation.Language, mux *plan.ObservedMux) plan.World {
	w := plan.World{Keys: language.Keys(), Key: muxKey, Now: time.Unix(1e9, 0), Mux: mux}
	channel := plan.ObservedChannel{}
	channel.Key, channel.Mux = types.NamespacedName{Namespace: a.namespace, Name: "web"}, muxKey
	for i := range a.names {
		channel.Hostnames = append(channel.Hostnames, fmt.Sprintf("n%02d.example.net", i))
	}
	for i := range max(a.has, 1) {
		claim := plan.Claim{Port: int32(i + 1), Public: int32(2*i + 2), Source: a.source}
		claim.Owner = plan.PortID{Channel: channel.Key, Name: fmt.Sprintf("p%d", i), Protocol: corev1.ProtocolTCP}
		claim.MuxName = plan.DerivedName(claim.Owner)
		if a.odd {
			claim.Public--
		}
		request := validation.Request{Kind: validation.Auto}
		if a.source == plan.Static {
			request = validation.Request{Kind: validation.Number, Number: claim.Public}
		}
		channel.Ports = append(channel.Ports, validation.ChannelPort{
			Name: claim.Owner.Name, Protocol: claim.Owner.Protocol, Port: claim.Port, Request: request,
		})
		if i < a.has {
			w.Ledger.Ledger.Claims = append(w.Ledger.Ledger.Claims, claim)
		}
	}
	w.Channels = []plan.ObservedChannel{channel}
	return w
}

// messagesOf returns all messages of a plan about channels.
func messagesOf(p *plan.Plan) []string {
	var told []string
	for _, verdict := range p.Verdicts {
		told = append(told, verdict.Message)
	}
	for _, patch := range slices.Concat(p.Hide, p.Show) {
		for _, condition := range patch.Conditions {
			told = append(told, condition.Message)
		}
		for _, event := range patch.Events {
			told = append(told, event.Message)
		}
	}
	return told
}

func TestNoSettingMakesALongRefusal(t *testing.T) {
	mux := longestMux(t)
	for about, message := range plan.SettingsTold(mux) {
		if len(message) > mostMessage || !strings.Contains(message, " more") {
			t.Errorf("%s: %d bytes: %.200s...", about, len(message), message)
		}
	}
}

// TestMessageListsFiveNotes: a message about six or more remarks ends with "and more", and gives no count.
func TestMessageListsFiveNotes(t *testing.T) {
	mux := longestMux(t)
	told := func(denied int) string {
		return plan.Mux(requests{namespace: "app", names: denied, source: plan.Auto}.world(english(t), mux),
			plan.Memory{}).Verdicts[0].Message
	}
	if text := told(5); strings.Count(text, "isn't gathered") != 5 || strings.HasSuffix(text, "; and more") {
		t.Errorf("of 5 names: %s", text)
	}
	six := told(6)
	if strings.Count(six, "isn't gathered") != 5 || !strings.HasSuffix(six, "; and more") {
		t.Errorf("of 6 names: %s", six)
	}
	if diff := cmp.Diff(six, told(validation.MaxHostnames)); diff != "" {
		t.Errorf("of %d names (-of 6 +got):\n%s", validation.MaxHostnames, diff)
	}
}
