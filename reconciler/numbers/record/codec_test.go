package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

var moment = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// claims returns n claims, each as large as claims get in practice.
func claims(n int) []plan.Claim {
	random := rand.New(rand.NewPCG(1, 2))
	all := make([]plan.Claim, 0, n)
	protocols := [...]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}
	for i := range n {
		all = append(all, plan.Claim{
			Owner: plan.PortID{
				Channel:  types.NamespacedName{Namespace: fmt.Sprintf("team-%03d", i%200), Name: fmt.Sprintf("service-%05d", i)},
				Name:     "http",
				Protocol: protocols[i/60000],
			},
			Port:    80,
			Public:  int32(1 + i%60000),
			Source:  plan.Auto,
			MuxName: fmt.Sprintf("%08x%012x", random.Uint32(), random.Uint64()&(1<<48-1)),
			Since:   moment.Add(time.Duration(random.IntN(1<<24)) * time.Second),
		})
	}
	return all
}

func encode(t testing.TB, ledger plan.Ledger) *corev1.ConfigMap {
	t.Helper()
	contents, err := Encode(ledger, keys)
	if err != nil {
		t.Fatal(err)
	}
	cm := withText("")
	cm.Labels, cm.Annotations = contents.Labels, contents.Annotations
	cm.Data, cm.BinaryData = map[string]string{}, map[string][]byte{}
	if contents.Packed != nil {
		cm.BinaryData[PackedKey] = contents.Packed
	} else {
		cm.Data[PlainKey] = contents.Plain
	}
	return cm
}

func someLedger() plan.Ledger {
	all := claims(3)
	all[1].State, all[2].State, all[2].Until = plan.Releasing, plan.InGrace, moment.Add(time.Hour)
	return plan.Ledger{Mux: mux, Generation: 7, Claims: all, Hostnames: []plan.HostnameHolder{
		{Hostname: "a.example.com", Namespace: "team-000"}, {Hostname: "b.example.com", Namespace: "team-001"},
	}}
}

func TestWhatWasWrittenIsReadAsItWas(t *testing.T) {
	cm := encode(t, someLedger())
	want := plan.Reading{Ledger: someLedger(), Name: cm.Name}
	if diff := cmp.Diff(want, Decode(cm, mux, keys)); diff != "" {
		t.Error(diff)
	}
	if !Selector().Matches(labels.Set(cm.Labels)) {
		t.Error("the cache wouldn't see it")
	}
}

func TestOrderAndTimeZoneAreNobodysBusiness(t *testing.T) {
	want := encode(t, someLedger())
	shuffled := someLedger()
	slices.Reverse(shuffled.Claims)
	slices.Reverse(shuffled.Hostnames)
	shuffled.Claims[0].Since = shuffled.Claims[0].Since.In(time.FixedZone("elsewhere", 3600))
	before := shuffled.Clone()
	if diff := cmp.Diff(want, encode(t, shuffled)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, shuffled); diff != "" {
		t.Errorf("the caller's ledger was sorted:\n%s", diff)
	}
}

func TestAnEditIsSeen(t *testing.T) {
	for what, edit := range map[string]func(string) string{
		"a number": func(s string) string {
			return strings.ReplaceAll(s, `"muxPort":1,"port":1,`, `"muxPort":9,"port":9,`)
		},
		"a time":         func(s string) string { return strings.Replace(s, "T04:", "T05:", 1) },
		"a new field":    func(s string) string { return strings.Replace(s, `"generation"`, `"colour":1,"generation"`, 1) },
		"the generation": func(s string) string { return strings.Replace(s, `"generation":7`, `"generation":8`, 1) },
		"the checksum":   func(s string) string { return strings.Replace(s, `"checksum":"`, `"checksum":"0`, 1) },
		"no checksum":    func(s string) string { return s[:strings.Index(s, `,"checksum"`)] + "}" },
		"no claims":      func(string) string { return `{"generation":7,"portClaims":[]}` },
		"no text":        func(string) string { return "" },
	} {
		t.Run(what, func(t *testing.T) {
			cm := encode(t, someLedger())
			if cm.Data[PlainKey] == edit(cm.Data[PlainKey]) {
				t.Fatal("nothing was edited")
			}
			cm.Data[PlainKey] = edit(cm.Data[PlainKey])
			if got := Decode(cm, mux, keys); got.Condition != plan.Edited || got.Why == "" {
				t.Errorf("it is read as %d: %s", got.Condition, got.Why)
			}
		})
	}
}

func TestWhiteSpaceIsNoEdit(t *testing.T) {
	cm := encode(t, someLedger())
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, []byte(cm.Data[PlainKey]), "", "  "); err != nil {
		t.Fatal(err)
	}
	cm.Data[PlainKey] = pretty.String() + "\n"
	if diff := cmp.Diff(plan.Reading{Ledger: someLedger(), Name: cm.Name}, Decode(cm, mux, keys)); diff != "" {
		t.Error(diff)
	}
}

func TestALabelThatIsGoneIsSeen(t *testing.T) {
	for _, label := range []string{nameLabel, componentLabel} {
		cm := encode(t, someLedger())
		delete(cm.Labels, label)
		if diff := cmp.Diff(plan.Reading{Ledger: someLedger(), Name: cm.Name, Unlabelled: true},
			Decode(cm, mux, keys)); diff != "" {
			t.Errorf("without %s:\n%s", label, diff)
		}
		if Selector().Matches(labels.Set(cm.Labels)) {
			t.Errorf("without %s, the cache shows it", label)
		}
	}
}

// TestWhatCouldNotBeRead: Encode refuses a ledger that Decode couldn't read, because that would freeze its mux.
func TestWhatCouldNotBeRead(t *testing.T) {
	for what, spoil := range map[string]func(*plan.Ledger){
		"one number twice": func(l *plan.Ledger) { l.Claims[1].Public = l.Claims[0].Public },
		"one owner twice":  func(l *plan.Ledger) { l.Claims[1].Owner, l.Claims[1].State = l.Claims[0].Owner, plan.Held },
		"one name twice": func(l *plan.Ledger) {
			l.Claims[1].MuxName, l.Claims[1].State = l.Claims[0].MuxName, plan.Held
		},
		"no name":               func(l *plan.Ledger) { l.Claims[0].Owner.Name = "" },
		"no protocol":           func(l *plan.Ledger) { l.Claims[0].Owner.Protocol = "X" },
		"no number":             func(l *plan.Ledger) { l.Claims[0].Public = 0 },
		"a state of its own":    func(l *plan.Ledger) { l.Claims[0].State = 9 },
		"a negative generation": func(l *plan.Ledger) { l.Generation = -1 },
		"the year 10000":        func(l *plan.Ledger) { l.Claims[0].Since = moment.AddDate(8000, 0, 0) },
		"a name of nobody":      func(l *plan.Ledger) { l.Hostnames[0].Namespace = "" },
	} {
		t.Run(what, func(t *testing.T) {
			ledger := someLedger()
			spoil(&ledger)
			if contents, err := Encode(ledger, keys); err == nil {
				t.Errorf("it is written: %s", contents.Plain)
			}
		})
	}
}
