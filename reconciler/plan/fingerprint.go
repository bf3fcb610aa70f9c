package plan

import (
	"encoding/binary"
	"strconv"
)

// Fingerprint stands for what an object of ours ought to look like.
type Fingerprint uint64

// inkpad gathers what a fingerprint is taken of. It is used again and again: there are thousands at each pass.
type inkpad struct{ text []byte }

// add adds texts, each with its end, so that "ab", "c" isn't "a", "bc".
func (i *inkpad) add(texts ...string) {
	for _, text := range texts {
		i.text = append(append(i.text, text...), 0)
	}
}

func (i *inkpad) number(n int32) { i.text = append(strconv.AppendInt(i.text, int64(n), 10), 0) }

// take is the fingerprint of all that was added: FNV, by words in place of bytes. Whoever makes two alike on purpose
// gains that a change of his isn't called one.
func (i *inkpad) take() Fingerprint {
	const offset, prime = 14695981039346656037, 1099511628211
	sum := uint64(offset)
	for len(i.text)%8 != 0 {
		i.text = append(i.text, 0)
	}
	for text := i.text; len(text) > 0; text = text[8:] {
		sum = (sum ^ binary.LittleEndian.Uint64(text)) * prime
		sum ^= sum >> 32
	}
	i.text = i.text[:0]
	return Fingerprint(sum)
}
