package record

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// ledgers generates any ledgers without contradictions.
func ledgers() *rapid.Generator[plan.Ledger] {
	name := rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?`)
	owner := rapid.OneOf(name, rapid.StringMatching(`(tcp|udp)route/[a-z0-9]{1,4}(\.[a-z0-9]{1,4})?`))
	moments := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "unknown") {
			return time.Time{}
		}
		at := time.Unix(rapid.Int64Range(0, 1<<37).Draw(t, "seconds"), rapid.Int64Range(0, 1e9-1).Draw(t, "nanoseconds"))
		return at.In(time.FixedZone("somewhere", rapid.IntRange(-12, 14).Draw(t, "zone")*3600))
	})
	claim := rapid.Custom(func(t *rapid.T) plan.Claim {
		return plan.Claim{
			Owner: plan.PortID{
				Channel:  types.NamespacedName{Namespace: name.Draw(t, "namespace"), Name: owner.Draw(t, "owner")},
				Name:     name.Draw(t, "port"),
				Protocol: rapid.SampledFrom([]corev1.Protocol{"TCP", "UDP", "SCTP"}).Draw(t, "protocol"),
			},
			Port:    rapid.Int32Range(0, 65535).Draw(t, "channel port"),
			Public:  rapid.Int32Range(1, 65535).Draw(t, "public"),
			Source:  rapid.SampledFrom([]plan.Source{plan.Static, plan.Auto}).Draw(t, "source"),
			MuxName: rapid.OneOf(rapid.Just(""), name).Draw(t, "name on the mux"),
			Since:   moments.Draw(t, "since"),
			State:   rapid.SampledFrom([]plan.State{plan.Held, plan.Releasing, plan.InGrace}).Draw(t, "state"),
			Until:   moments.Draw(t, "until"),
		}
	})
	return rapid.Custom(func(t *rapid.T) plan.Ledger {
		ledger := plan.Ledger{
			Mux: mux, MuxUID: types.UID(rapid.OneOf(rapid.Just(""), name).Draw(t, "uid")),
			HeldUntil:  moments.Draw(t, "held until"),
			Provider:   rapid.SampledFrom([]string{"", "gke"}).Draw(t, "provider"),
			Generation: rapid.Int64Min(0).Draw(t, "generation"),
		}
		for _, c := range rapid.SliceOfNDistinct(claim, 0, 20,
			func(c plan.Claim) plan.Slot { return c.Slot() }).Draw(t, "claims") {
			if ledger.Claims = append(ledger.Claims, c); contradiction(&ledger) != nil {
				ledger.Claims = ledger.Claims[:len(ledger.Claims)-1]
			}
		}
		for _, hostname := range rapid.SliceOfNDistinct(name, 0, 5, rapid.ID).Draw(t, "hostnames") {
			ledger.Hostnames = append(ledger.Hostnames,
				plan.HostnameHolder{Hostname: hostname, Namespace: name.Draw(t, "holder")})
		}
		return ledger
	})
}

// asStored returns a ledger as it is after writing and reading: sorted, and in whole seconds.
func asStored(ledger plan.Ledger) plan.Ledger {
	ledger = ledger.Clone()
	ledger.Sort()
	ledger.HeldUntil = ledger.HeldUntil.UTC().Truncate(time.Second)
	for i := range ledger.Claims {
		c := &ledger.Claims[i]
		c.Since, c.Until = c.Since.UTC().Truncate(time.Second), c.Until.UTC().Truncate(time.Second)
	}
	if len(ledger.Claims) == 0 {
		ledger.Claims = nil
	}
	return ledger
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ledger := ledgers().Draw(t, "ledger")
		before := ledger.Clone()
		contents, err := Encode(ledger, keys)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, ledger); diff != "" {
			t.Fatalf("to write changed it:\n%s", diff)
		}
		cm := withText(contents.Plain)
		cm.Labels, cm.Annotations = contents.Labels, contents.Annotations
		untouched := cm.DeepCopy()
		if diff := cmp.Diff(plan.Reading{Ledger: asStored(ledger), Name: cm.Name}, Decode(cm, mux, keys)); diff != "" {
			t.Fatalf("it is read as another:\n%s", diff)
		}
		if diff := cmp.Diff(untouched, cm); diff != "" {
			t.Fatalf("to read changed it:\n%s", diff)
		}
	})
}

// FuzzDecode checks that Decode panics for no ConfigMap. A usable ledger can be written, and is then read as good and
// equal.
func FuzzDecode(f *testing.F) {
	golden.Seeds(f)
	for _, text := range texts(f) {
		f.Add(text, []byte(nil), "")
		packed, err := pack([]byte(text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add("", packed, "3")
	}
	for _, c := range originals(f) {
		f.Add(c.cm.Data[PlainKey], []byte(nil), "12")
	}
	f.Add(encode(f, someLedger()).Data[PlainKey], []byte("{"), "7")
	f.Fuzz(func(t *testing.T, plain string, packed []byte, generation string) {
		cm := withText(plain)
		cm.BinaryData = map[string][]byte{PackedKey: packed}
		cm.Annotations[keys.Generation] = generation
		got := Decode(cm, mux, keys)
		if got.Condition > plan.Edited {
			if got.Why == "" || len(got.Why) > 1024 {
				t.Errorf("it freezes the mux with %d bytes of reason: %q", len(got.Why), got.Why)
			}
			return
		}
		want := plan.Reading{Ledger: got.Ledger, Name: cm.Name}
		if diff := cmp.Diff(want, Decode(encode(t, got.Ledger), mux, keys)); diff != "" {
			t.Errorf("it reads differently when written again:\n%s", diff)
		}
	})
}
