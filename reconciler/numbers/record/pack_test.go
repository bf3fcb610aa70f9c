package record

import (
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// TestBothKeys: the original knows only the plain key, and writes it after us; or a user edits one of the two.
func TestBothKeys(t *testing.T) {
	plain := func(generation int64, public int32) string {
		return encode(t, plan.Ledger{Mux: mux, Generation: generation, Claims: withNumber(public)}).Data[PlainKey]
	}
	packed := func(generation int64, public int32) []byte {
		data, err := pack([]byte(plain(generation, public)))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	const original = `{"schemaVersion":1,"portClaims":[{"namespace":"app","service":"api","portName":"http","port":1}]}`
	for what, c := range map[string]struct {
		plain     string
		packed    []byte
		condition plan.LedgerState
		public    int32
	}{
		"packed alone":                 {"", packed(7, 2), plan.Good, 2},
		"packed is newer":              {plain(6, 1), packed(7, 2), plan.Good, 2},
		"plain is newer":               {plain(8, 1), packed(7, 2), plan.Good, 1},
		"equals":                       {plain(7, 1), packed(7, 2), plan.Good, 1},
		"the original wrote after us":  {original, packed(7, 2), plan.Edited, 1},
		"packed is broken":             {plain(8, 1), packed(7, 2)[:40], plan.Unreadable, 0},
		"packed holds no ledger":       {plain(8, 1), mustPack(t, "[]"), plan.Unreadable, 0},
		"plain is broken":              {"{", packed(7, 2), plan.Unreadable, 0},
		"packed is no gzip":            {"", []byte("{}"), plan.Unreadable, 0},
		"packed is packed twice":       {"", mustPack(t, string(packed(7, 2))), plan.Unreadable, 0},
		"something follows packed":     {"", append(packed(7, 2), 0), plan.Unreadable, 0},
		"more follows packed":          {"", append(packed(7, 2), packed(8, 3)...), plan.Unreadable, 0},
		"blanks follow, packed too":    {"", append(packed(7, 2), mustPack(t, " ")...), plan.Good, 2},
		"packed holds nothing":         {plain(8, 1), mustPack(t, ""), plan.Good, 1},
		"packed unfolds without end":   {plain(8, 1), mustPack(t, strings.Repeat(" ", UnpackedLimit+1)), plan.Unreadable, 0},
		"packed is from another world": {"", mustPack(t, `{"schemaVersion":3}`), plan.Newer, 0},
	} {
		t.Run(what, func(t *testing.T) {
			cm := withText(c.plain)
			cm.Annotations[keys.Generation] = "7"
			cm.BinaryData = map[string][]byte{PackedKey: c.packed}
			got := Decode(cm, mux, keys)
			var public int32
			if len(got.Ledger.Claims) > 0 {
				public = got.Ledger.Claims[0].Public
			}
			if got.Condition != c.condition || public != c.public {
				t.Errorf("it is read as %d with %d: %s", got.Condition, public, got.Why)
			}
		})
	}
}

func withNumber(public int32) []plan.Claim {
	all := claims(1)
	all[0].Public = public
	return all
}

func mustPack(t *testing.T, text string) []byte {
	t.Helper()
	data, err := pack([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestWhatUnfoldsWithoutEndIsNotUnfolded(t *testing.T) {
	for length, want := range map[int]string{UnpackedLimit: "", UnpackedLimit + 1: "it unfolds to more than 16 MiB"} {
		text, err := unpack(mustPack(t, strings.Repeat(" ", length)))
		if (err == nil) != (want == "") || err != nil && err.Error() != want || err != nil && text != nil {
			t.Errorf("%d bytes: %d are returned, %v", length, len(text), err)
		}
	}
}
