package place

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// score is the weighted rendezvous score of a candidate for a key: -capacity / ln(u), where u is uniform in (0, 1) and
// comes from a hash of both names. With it, a candidate wins a share of the keys that is proportional to its capacity.
//
// The hash must never change: a change would move every address. The length in front keeps ("a", "bc") and ("ab", "c")
// apart.
func score(key, candidate string, capacity int) float64 {
	text := binary.BigEndian.AppendUint64(nil, uint64(len(key)))
	text = append(append(text, key...), candidate...)
	sum := sha256.Sum256(text)
	bits := binary.BigEndian.Uint64(sum[:8]) >> 11 // the 53 bits that a float64 holds exactly
	u := (float64(bits) + 0.5) / (1 << 53)
	return -float64(capacity) / math.Log(u)
}
