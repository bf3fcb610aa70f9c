package plan

import (
	"encoding/binary"
	"strconv"
)

// Fingerprint stands for what an object of ours ought to look like.
type Fingerprint uint64

// inkpad takes fingerprints: FNV, by words in place of bytes. Whoever makes two alike on purpose gains that a change of
// his isn't called one.
type inkpad struct {
	sum  uint64
	text []byte // what is added and not yet taken in: there are megabytes at each pass
}

// manyBytes is how much is gathered before it is taken in.
const manyBytes = 4096

// add adds texts, each with its end, so that "ab", "c" isn't "a", "bc".
func (i *inkpad) add(texts ...string) {
	for _, text := range texts {
		i.text = append(append(i.text, text...), 0)
	}
	if len(i.text) >= manyBytes {
		i.takeIn()
	}
}

func (i *inkpad) number(n int32) { i.text = append(strconv.AppendInt(i.text, int64(n), 10), 0) }

// takeIn works off whole words; the rest stays.
func (i *inkpad) takeIn() {
	const prime = 1099511628211
	text := i.text
	for ; len(text) >= 8; text = text[8:] {
		i.sum = (i.sum ^ binary.LittleEndian.Uint64(text)) * prime
		i.sum ^= i.sum >> 32
	}
	i.text = i.text[:copy(i.text, text)]
}

// take is the fingerprint of all that was added since the last one.
func (i *inkpad) take() Fingerprint {
	for len(i.text)%8 != 0 {
		i.text = append(i.text, 0)
	}
	i.takeIn()
	sum := i.sum
	i.sum = 0
	return Fingerprint(sum)
}
