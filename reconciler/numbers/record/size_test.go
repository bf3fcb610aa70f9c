package record

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

func size(t testing.TB, n int) (plain, packed int) {
	cm := encode(t, plan.Ledger{Mux: mux, Generation: 1, Claims: claims(n)})
	return len(cm.Data[PlainKey]), len(cm.BinaryData[PackedKey])
}

func TestThePlainLimit(t *testing.T) {
	ledger := plan.Ledger{Mux: mux, Generation: 1, Claims: claims(2600)}
	ledger.Hostnames = []plan.HostnameHolder{{Hostname: "a", Namespace: "app"}}
	// A holder takes these bytes and its name, with the comma between it and the next one.
	one := len(`{"hostname":"","namespace":"app"},`)
	for short := PlainLimit - len(encode(t, ledger).Data[PlainKey]); short > 0; {
		length := min(short-one, 253)
		if rest := short - one - length; rest > 0 && rest <= one {
			length -= one // leaves room for one more holder
		}
		name := fmt.Sprintf("%06d", len(ledger.Hostnames))
		name += strings.Repeat("a", length-len(name))
		ledger.Hostnames = append(ledger.Hostnames, plan.HostnameHolder{Hostname: name, Namespace: "app"})
		short -= one + length
	}
	ledger.Sort()
	at := encode(t, ledger)
	if len(at.Data[PlainKey]) != PlainLimit || at.BinaryData[PackedKey] != nil {
		t.Errorf("at the limit it is %d bytes, and %d packed", len(at.Data[PlainKey]), len(at.BinaryData[PackedKey]))
	}
	last := &ledger.Hostnames[len(ledger.Hostnames)-1] // the shortest one
	last.Hostname += "a"
	past := encode(t, ledger)
	if _, plain := past.Data[PlainKey]; plain || past.BinaryData[PackedKey] == nil {
		t.Errorf("past the limit it is %d bytes, and %d packed", len(past.Data[PlainKey]), len(past.BinaryData[PackedKey]))
	}
	if diff := cmp.Diff(plan.Reading{Ledger: ledger, Name: past.Name}, Decode(past, mux, keys)); diff != "" {
		t.Error(diff)
	}
}

func TestTenThousandClaims(t *testing.T) {
	ledger := plan.Ledger{Mux: mux, Generation: 1, Claims: claims(10_000)}
	cm := encode(t, ledger)
	if n := len(cm.BinaryData[PackedKey]); n == 0 || n > PackedLimit {
		t.Errorf("they take %d bytes", n)
	}
	if diff := cmp.Diff(cm, encode(t, ledger)); diff != "" {
		t.Error("twice the same gives two")
	}
	if diff := cmp.Diff(plan.Reading{Ledger: ledger, Name: cm.Name}, Decode(cm, mux, keys)); diff != "" {
		t.Error(diff)
	}
}

// TestTheWayBack: we promise that the original can read a ledger of this many claims.
func TestTheWayBack(t *testing.T) {
	const promised = 2_500
	if plain, _ := size(t, promised); plain == 0 {
		t.Errorf("%d claims don't fit into %d bytes", promised, PlainLimit)
	}
}

func TestTooManyClaims(t *testing.T) {
	_, err := Encode(plan.Ledger{Mux: mux, Generation: 1, Claims: claims(100_000)}, keys)
	if err == nil || !strings.Contains(err.Error(), "100000 claims") || !strings.Contains(err.Error(), "another mux") {
		t.Errorf("they are refused with: %v", err)
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ledger := plan.Ledger{Mux: mux, Generation: 1, Claims: claims(n)}
			plain, packed := size(b, n)
			for b.Loop() {
				if _, err := Encode(ledger, keys); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(plain+packed), "bytes")
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			cm := encode(b, plan.Ledger{Mux: mux, Generation: 1, Claims: claims(n)})
			for b.Loop() {
				if got := Decode(cm, mux, keys); got.Condition != plan.Good {
					b.Fatal(got.Why)
				}
			}
		})
	}
}
